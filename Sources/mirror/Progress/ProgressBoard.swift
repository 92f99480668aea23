import MirrorKit

/// The state of a run's transfers and its totals, kept from the events of the run.
///
/// The board knows no terminal and no clock: the caller passes the time.
struct ProgressBoard: Sendable {
    /// A transfer under way.
    struct Flight: Sendable {
        /// What the transfer is doing.
        enum Doing: Sendable, Hashable {
            case connecting, resuming(from: Int64), receiving, copying, verifying, writing
            case waiting(until: Instant, cause: String, tries: String)
            case startingOver
        }

        var doing: Doing
        var bytes: Int64 = 0
        var size: Int64?
        var rate: Int64 = 0
        /// `began`: when the transfer began. `moved`: when its last bytes came.
        let began: Instant
        var moved: Instant
        /// The transfer's position in the order in which transfers began.
        let number: Int
    }

    /// Small files that have ended, which have no lines of their own.
    struct SmallFiles: Sendable {
        var count = 0
        /// The path of the last file.
        var last = ""
        /// When the last file ended. `nil` means that no file has ended.
        var ended: Instant?
        /// Files a second, measured over the last seconds.
        var rate = 0.0
        private var sample: (time: Instant, count: Int)?

        mutating func add(_ path: String, at time: Instant) {
            count += 1
            (last, ended) = (path, time)
            guard let sample else { return self.sample = (time, count - 1) }
            let span = time.milliseconds - sample.time.milliseconds
            if span >= 1000 {
                rate = Double(count - sample.count) * 1000 / Double(span)
                self.sample = (time, count)
            } else if rate == 0, span > 0 {
                rate = Double(count - sample.count) * 1000 / Double(max(span, 250))
            }
        }
    }

    private(set) var flights: [String: Flight] = [:]
    private(set) var small = SmallFiles()
    private(set) var totals = RunTotals()
    private(set) var outage = OutageNote()
    /// `localSteps`: the plan's copies, moves and removals.
    ///
    /// `localEnded`: how many of them have ended.
    private(set) var localSteps = 0
    private(set) var localEnded = 0
    /// When the copies, moves and removals began: with the run.
    private var localBegan: Instant?
    private(set) var failed = 0
    /// When the last event came. `nil` means that no event has come.
    private(set) var heard: Instant?
    private var begun = 0
    /// Whether the summary of the run has come.
    private(set) var hasEnded = false

    /// Whether an event came in the last 5 seconds.
    func isHeard(at now: Instant) -> Bool {
        heard.map { now.milliseconds - $0.milliseconds <= 5000 } ?? false
    }

    /// Whether bytes of any transfer come.
    func isMoving(at now: Instant) -> Bool { totals.rate > 0 && isHeard(at: now) }

    /// Whether a run is under way.
    var isActive: Bool { heard != nil && !hasEnded }

    /// Returns the seconds until the last copy, move or removal ends, at the pace so far.
    ///
    /// Returns nil if none of them has ended yet.
    func localSecondsLeft(at now: Instant) -> Int64? {
        guard let localBegan, localEnded > 0 else { return nil }
        let spent = Double(now.milliseconds - localBegan.milliseconds)
        let left = spent * Double(localSteps - localEnded) / Double(localEnded) / 1000
        return Int64(exactly: left.rounded(.up))
    }

    /// Forgets a run, before the next one begins.
    mutating func reset() { self = ProgressBoard() }

    /// Handles an event of the run.
    mutating func apply(_ event: Event) {
        outage.apply(event)
        totals = event.totals
        heard = event.time
        switch event.body {
        case .plan(let plan): (localSteps, localBegan) = (plan.localSteps, event.time)
        case .start(let start): begin(start, at: event.time)
        case .progress(let progress): take(progress, at: event.time)
        case .retry(let again):
            change(again.target, at: event.time) { flight in
                flight.rate = 0
                flight.doing = ProgressBoard.doing(of: again, at: event.time)
            }
        case .restart(let again):
            change(again.target, at: event.time) { flight in
                (flight.bytes, flight.rate, flight.doing) = (0, 0, .startingOver)
            }
        case .done(let done): end(done.target, done.step, hasFailed: false, at: event.time)
        case .failed(let failure):
            end(failure.target, failure.step, hasFailed: true, at: event.time)
        case .removed: localEnded += 1
        case .paused, .resumed, .set, .warning: break
        case .summary: hasEnded = true
        }
    }

    private mutating func begin(_ start: Event.Start, at time: Instant) {
        begun += 1
        var doing = Flight.Doing.connecting
        if start.source == nil {
            doing = .copying
        } else if start.offset > 0 {
            doing = .resuming(from: start.offset)
        }
        flights[start.target.path] = Flight(
            doing: doing, bytes: start.offset, size: start.size, began: time, moved: time,
            number: begun)
    }

    private mutating func take(_ progress: Event.Progress, at time: Instant) {
        change(progress.target, at: time) { flight in
            if progress.bytes != flight.bytes { flight.moved = time }
            (flight.bytes, flight.size) = (progress.bytes, progress.size ?? flight.size)
            flight.rate = progress.rate
            flight.doing =
                switch progress.stage {
                case .receiving: .receiving
                case .verifying: .verifying
                case .writing: .writing
                }
        }
    }

    /// Changes a transfer, or adds it.
    ///
    /// A board that joins a running run has not seen the transfer begin.
    private mutating func change(
        _ target: Target, at time: Instant, _ body: (inout Flight) -> Void
    ) {
        if flights[target.path] == nil { begun += 1 }
        body(
            &flights[
                target.path,
                default: Flight(doing: .connecting, began: time, moved: time, number: begun)])
    }

    private mutating func end(
        _ target: Target, _ step: Step.Kind, hasFailed: Bool, at time: Instant
    ) {
        let flight = flights.removeValue(forKey: target.path)
        if step == .copy || step == .move { localEnded += 1 }
        if hasFailed {
            failed += 1
        } else if let flight, !flight.hasLine(at: time) {
            small.add(target.path, at: time)
        }
    }

    private static func doing(of again: Event.Again, at time: Instant) -> Flight.Doing {
        let cause =
            again.cause.status.map { "\($0)" }
            ?? again.cause.code.rawValue
            .split(separator: "-").joined(separator: " ")
        return .waiting(
            until: Instant(milliseconds: time.milliseconds + again.wait), cause: cause,
            tries: again.tries.map { ", try \($0.next) of \($0.most)" } ?? "")
    }
}

extension ProgressBoard.Flight {
    /// The size in bytes from which on a transfer has a line of its own at once.
    static let largeSize: Int64 = 4 << 20
    /// After this time, in milliseconds, every transfer has a line of its own.
    static let brief: Int64 = 1000
    /// The milliseconds without a byte after which a transfer counts as stalled.
    static let stalls: Int64 = 5000

    /// Whether the transfer has a line of its own: it is large, takes long, or waits.
    func hasLine(at now: Instant) -> Bool {
        if case .waiting(let until, _, _) = doing, until.milliseconds > began.milliseconds {
            return true
        }
        return (size ?? 0) >= Self.largeSize || now.milliseconds - began.milliseconds >= Self.brief
    }

    /// Returns the seconds without a byte, if the transfer should receive bytes.
    ///
    /// Returns nil while bytes come, and for a transfer that does other work.
    func stalledSeconds(at now: Instant) -> Int64? {
        switch doing {
        case .receiving, .resuming, .connecting, .startingOver:
            let idle = now.milliseconds - moved.milliseconds
            return idle >= Self.stalls ? idle / 1000 : nil
        case .copying, .verifying, .writing, .waiting: return nil
        }
    }
}

extension PlanTotals {
    /// The number of steps that change the tree and ask no server.
    fileprivate var localSteps: Int {
        [Step.Kind.copy, .move, .remove].reduce(0) { $0 + (steps[$1] ?? 0) }
    }
}
