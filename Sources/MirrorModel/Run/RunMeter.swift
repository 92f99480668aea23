/// What one transfer has brought and is expected to bring.
struct TransferCount: Sendable, Hashable {
    var expected: ExpectedBytes
    /// Body bytes that arrived.
    var received: Int64 = 0
    /// Bytes of the file that were there before.
    private var base: Int64 = 0

    init(_ expected: ExpectedBytes) { self.expected = expected }

    /// Takes in what a transfer of `step` tells.
    mutating func take(_ event: TransferEvent, of step: Step) {
        switch event {
        case .started(_, let size, let offset):
            base = offset == step.offset ? step.reusableBytes : offset
            // Until bytes come, a conditional request is expected to bring none.
            if expected != .none { learn(size: size) }
        case .progress(let bytes, let size, _):
            received = max(0, bytes - base)
            learn(size: size)
        case .restart:
            if case .known(let bytes) = expected { expected = .known(bytes.addingSaturated(base)) }
            (base, received) = (0, 0)
        case .ended(let result):
            // These are all that arrived.
            received = result.cost.bytesReceived
            expected = .known(received)
        case .retry, .verifying: break
        }
    }

    private mutating func learn(size: Int64?) {
        if let size { expected = .known(max(received, size - base)) }
    }
}

/// Adds up what the transfers of a run have brought and are expected to bring.
struct RunMeter: Sendable {
    private var totals = RunTotals()
    /// Transfers that have not ended, by the positions of their steps.
    private var open = PositionSet()
    private var pace = RunPace()

    /// Adds a transfer.
    mutating func add(_ position: Int, _ expected: ExpectedBytes) {
        open.insert(CollectionOfOne(position))
        totals.transfers += 1
        add(expected, 1)
    }

    /// Enters that a transfer's count has changed.
    mutating func change(from old: TransferCount, to new: TransferCount, at time: Int64) {
        pace.note(bytes: max(0, new.received - old.received), ended: 0, at: time)
        totals.bytes += new.received - old.received
        add(old.expected, -1)
        add(new.expected, 1)
    }

    /// Enters that a step has ended; one without a transfer changes nothing.
    mutating func end(_ position: Int, _ count: TransferCount, hasFailed: Bool, at time: Int64) {
        guard open.remove(position) else { return }
        var last = count
        last.expected = .known(count.received)
        change(from: count, to: last, at: time)
        pace.note(bytes: 0, ended: 1, at: time)
        totals.ended += 1
        if hasFailed { totals.failed += 1 }
    }

    private mutating func add(_ expected: ExpectedBytes, _ sign: Int64) {
        switch expected {
        case .none: break
        case .known(let bytes):
            totals.expectedBytes = max(0, totals.expectedBytes.addingSaturated(sign * bytes))
        case .unknown: totals.unknownSizes += Int(sign)
        }
    }

    /// The totals at a time, in milliseconds of the run.
    func totals(at time: Int64) -> RunTotals {
        var totals = totals
        guard let rates = pace.rates(at: time) else { return totals }
        totals.rate = Int64(rates.bytes)
        totals.secondsLeft = secondsLeft(rates)
        return totals
    }

    private func secondsLeft(_ rates: RunPace.Rates) -> Int64? {
        let bytes = totals.expectedBytes - totals.bytes
        if totals.unknownSizes == 0, bytes > 0 { return Self.quotient(Double(bytes), rates.bytes) }
        return Self.quotient(Double(totals.transfers - totals.ended), rates.ended)
    }

    /// Whole seconds for what is left at a rate; nil where nothing moves.
    private static func quotient(_ left: Double, _ rate: Double) -> Int64? {
        rate > 0 ? Int64(exactly: (left / rate).rounded(.up)) : nil
    }
}

/// How fast bytes come and transfers end, over the last seconds.
struct RunPace: Sendable {
    private var bytes: Int64 = 0
    private var ended: Int64 = 0
    private var older: Sample?
    private var newer: Sample?

    private struct Sample {
        var time: Int64
        var bytes: Int64
        var ended: Int64
    }

    /// Bytes and transfers a second.
    struct Rates {
        var bytes: Double
        var ended: Double
    }

    /// The rates span between one and two of these, in milliseconds.
    private static let span: Int64 = 2500
    /// The shortest time, in milliseconds, from which a rate is told.
    private static let shortest: Int64 = 500

    /// Notes bytes that arrived and transfers that ended. After a pause the rates are measured anew.
    mutating func note(bytes: Int64, ended: Int64, at time: Int64) {
        self.bytes += bytes
        self.ended += ended
        addSample(at: time)
    }

    private mutating func addSample(at time: Int64) {
        let sample = Sample(time: time, bytes: bytes, ended: ended)
        guard let last = newer, time - last.time < 2 * Self.span else {
            (older, newer) = (sample, sample)
            return
        }
        if time - last.time >= Self.span { (older, newer) = (last, sample) }
    }

    /// The rates at a time; nil where too little time has gone by.
    func rates(at time: Int64) -> Rates? {
        guard let older, time - older.time >= Self.shortest else { return nil }
        let seconds = Double(time - older.time) / 1000
        return Rates(
            bytes: Double(bytes - older.bytes) / seconds,
            ended: Double(ended - older.ended) / seconds)
    }
}

/// What the transfers of a run have brought so far, and what is left.
///
/// A transfer is counted once, however many targets take its bytes. Copies and moves within the tree
/// are not counted.
public struct RunTotals: Sendable, Hashable {
    /// Transfers of the run.
    public var transfers = 0
    /// Transfers that have ended, failed ones included.
    public var ended = 0
    /// Transfers that have failed.
    public var failed = 0
    /// Body bytes that arrived.
    public var bytes: Int64 = 0
    /// Body bytes of all transfers, as far as sizes are known.
    public var expectedBytes: Int64 = 0
    /// Transfers that have not ended and whose size nobody has told yet.
    public var unknownSizes = 0
    /// Bytes a second over the last seconds.
    public var rate: Int64 = 0
    /// Seconds until the last transfer ends, if all goes on as in the last seconds; nil where that
    /// cannot be told. While sizes are unknown it follows from the number of transfers.
    public var secondsLeft: Int64?

    /// No transfer.
    public init() {}
}

extension RunTotals {
    /// Writes the totals as members of an object.
    package func writeMembers(to json: inout JSONWriter) {
        json.member("transfers", transfers)
        json.member("ended", ended)
        json.member("failed", failed)
        json.member("bytes", bytes)
        json.member("expectedBytes", expectedBytes)
        json.member("unknownSizes", unknownSizes)
        json.member("rate", rate)
        json.member("secondsLeft", secondsLeft)
    }
}

/// The body bytes that a transfer is expected to bring.
package enum ExpectedBytes: Sendable, Hashable {
    /// The server most likely confirms the version that is there, and sends none.
    case none
    /// So many.
    case known(Int64)
    /// The manifest declares no size.
    case unknown
}

extension Step {
    /// The body bytes that the step's transfer is expected to bring.
    package var expectedBytes: ExpectedBytes {
        if let size { return .known(max(0, size - reusableBytes)) }
        return local?.isConfirmable == true ? .none : .unknown
    }
}

extension StepList {
    /// The body bytes that the transfer of the step at `position` is expected to bring.
    package func expectedBytes(at position: Int) -> ExpectedBytes {
        guard let fetch = plainFetch(at: position) else { return self[position].expectedBytes }
        return fetch.size.map { .known($0) } ?? .unknown
    }
}

/// What is done with the bytes of a transfer under way.
public enum TransferStage: String, Sendable, Hashable, CaseIterable {
    /// They arrive.
    case receiving
    /// All are here, and are compared with what is declared of them.
    case verifying
    /// They are the right ones, and get their final name.
    case writing
}

/// Which of how many tries follows after a passing failure.
public struct RetryTries: Sendable, Hashable {
    /// The try that follows, from 2.
    public let next: Int
    /// How many tries there are without progress, with the first one.
    public let most: Int

    /// Takes the numbers.
    public init(next: Int, most: Int) { (self.next, self.most) = (next, most) }
}
