@testable import MirrorKit

/// The clock of a simulation, and what is to happen when: time passes only when nothing is left to do.
///
/// One thread uses it, whatever its closures say of themselves; that is why it may cross into them.
final class VirtualTime: @unchecked Sendable {
    private struct Event {
        let time: Int64
        let number: Int
        let act: () -> Void
    }

    /// Milliseconds since the simulation began.
    private(set) var now: Int64 = 0
    private var events: [Event] = []
    private var made = 0
    /// What happened, for whoever asks for the story of a seed.
    private(set) var story: [String] = []
    let tellsStory: Bool

    init(tellsStory: Bool = false) { self.tellsStory = tellsStory }

    /// The clock as a loop reads it.
    var clock: SystemClock {
        SystemClock(
            monotonic: { self.now }, threadBusy: { 0 },
            now: { Instant(milliseconds: 1_767_225_600_000 + self.now) })
    }

    /// Has something happen at a time, after all that was to happen then.
    func at(_ time: Int64, _ act: @escaping () -> Void) {
        made += 1
        let event = Event(time: max(now, time), number: made, act: act)
        // Nearly everything is later than what is there.
        var place = events.endIndex
        while place > events.startIndex, events[place - 1].time > event.time { place -= 1 }
        events.insert(event, at: place)
    }

    /// Has something happen in so many milliseconds.
    func after(_ time: Int64, _ act: @escaping () -> Void) { at(now + time, act) }

    /// When something happens next.
    var next: Int64? { events.first?.time }

    /// Goes on to a time.
    func advance(to time: Int64) { now = max(now, time) }

    /// Does what was to happen by now; whether there was anything.
    func happen() -> Bool {
        guard let first = events.first, first.time <= now else { return false }
        while let event = events.first, event.time <= now {
            events.removeFirst()
            event.act()
        }
        return true
    }

    /// Notes what happened.
    func tell(_ words: @autoclosure () -> String) {
        if tellsStory { story.append("\(now) ms: \(words())") }
    }
}
