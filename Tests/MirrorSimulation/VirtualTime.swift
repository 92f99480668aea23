import Synchronization

@testable import MirrorKit
@testable import MirrorModel

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
    var clock: LoopClock {
        LoopClock(
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

/// Numbers that a seed fixes.
final class Chance: @unchecked Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 0x1234_5678 }

    private func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// A number of a range.
    func number(_ range: ClosedRange<Int64>) -> Int64 {
        range.lowerBound + Int64(next() % UInt64(range.upperBound - range.lowerBound + 1))
    }

    /// Whether something with a chance of one in so many happens.
    func oneIn(_ count: Int64) -> Bool { number(1...count) == 1 }

    /// One of several.
    func pick<Value>(_ values: [Value]) -> Value {
        values[Int(number(0...Int64(values.count) - 1))]
    }
}

/// Workers that take their time, which is virtual: a slow disk is a number.
final class SimulatedWorkers: Workers {
    private let time: VirtualTime
    private let chance: Chance
    private let slowness: Int64

    /// - Parameter slowness: the most milliseconds that a piece of work takes.
    init(_ time: VirtualTime, _ chance: Chance, slowness: Int64) {
        self.time = time
        self.chance = chance
        self.slowness = slowness
    }

    func submit(_ work: @escaping @Sendable () -> Void) -> Bool {
        time.after(chance.number(0...slowness)) { work() }
        return true
    }

    func stop() {}
}
