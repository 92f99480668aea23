/// The bytes that one transfer has brought, and those that are expected of it.
struct TransferCount: Sendable, Hashable {
    /// Body bytes that are expected in all. `nil` means that their number is not known.
    var expected: Int64?
    /// Body bytes that arrived.
    var received: Int64 = 0
    /// Bytes of the file that were there before the transfer.
    private var base: Int64 = 0

    init(_ expected: Int64?) { self.expected = expected }

    /// Counts an event of the transfer of `step`.
    mutating func take(_ event: TransferEvent, of step: Step) {
        switch event {
        case .started(_, let size, let offset):
            base = offset == step.offset ? step.reusableBytes : offset
            // Until bytes come, a conditional request is expected to bring no bytes.
            if !step.expectsConfirmation { learn(size: size) }
        case .progress(let bytes, let size, _):
            received = max(0, bytes - base)
            learn(size: size)
        case .restart:
            if !step.expectsConfirmation || received > 0 {
                expected = expected?.addingSaturated(base)
            }
            (base, received) = (0, 0)
        case .ended(let result):
            // The result counts all bytes that arrived, even those of earlier requests.
            received = result.cost.bytesReceived
            expected = received
        case .retry, .verifying, .warning: break
        }
    }

    private mutating func learn(size: Int64?) {
        if let size { expected = max(received, size - base) }
    }
}

/// Adds up the bytes that a run's transfers have brought and are expected to bring.
struct RunMeter: Sendable {
    private var totals = RunTotals()
    /// Transfers that have not ended, by the numbers of their downloads.
    private var open = PositionSet()
    /// `bytes`: bytes that arrived; `ended`: transfers that ended.
    ///
    /// `older` and `newer`: two earlier states of both, with their times in milliseconds.
    private var bytes: Int64 = 0
    private var ended: Int64 = 0
    private var older: (time: Int64, bytes: Int64, ended: Int64)?
    private var newer: (time: Int64, bytes: Int64, ended: Int64)?

    /// The least time between two states, in milliseconds; a rate usually covers one to two.
    private static let span: Int64 = 2500
    /// The shortest time, in milliseconds, from which a rate is computed.
    private static let shortest: Int64 = 500

    /// Adds a transfer, with the body bytes that are expected of it, unless it was added before.
    mutating func add(_ number: Int, _ expected: Int64?) {
        if open.contains(number) { return }
        open.insert(number)
        totals.transfers += 1
        add(expected, 1)
    }

    /// Replaces a transfer's earlier count by its new one.
    mutating func change(from old: TransferCount, to new: TransferCount, at time: Int64) {
        note(bytes: max(0, new.received - old.received), ended: 0, at: time)
        totals.bytes += new.received - old.received
        add(old.expected, -1)
        add(new.expected, 1)
    }

    /// Enters the end of a transfer. Does nothing if none with this number is open.
    mutating func end(_ number: Int, _ count: TransferCount, hasFailed: Bool, at time: Int64) {
        guard open.remove(number) else { return }
        var last = count
        last.expected = count.received
        change(from: count, to: last, at: time)
        note(bytes: 0, ended: 1, at: time)
        totals.ended += 1
        if hasFailed { totals.failed += 1 }
    }

    private mutating func add(_ expected: Int64?, _ sign: Int64) {
        guard let expected else { return totals.unknownSizes += Int(sign) }
        totals.expectedBytes = max(0, totals.expectedBytes.addingSaturated(sign * expected))
    }

    /// The totals at a time, in milliseconds of the run.
    func totals(at time: Int64) -> RunTotals {
        var totals = totals
        guard let rates = rates(at: time) else { return totals }
        totals.rate = Int64(rates.bytes)
        totals.secondsLeft = secondsLeft(rates)
        return totals
    }

    private func secondsLeft(_ rates: (bytes: Double, ended: Double)) -> Int64? {
        let bytes = totals.expectedBytes - totals.bytes
        if totals.unknownSizes == 0, bytes > 0 { return Self.quotient(Double(bytes), rates.bytes) }
        return Self.quotient(Double(totals.transfers - totals.ended), rates.ended)
    }

    /// Returns the seconds that the rest takes at a rate. Returns nil if the rate is 0.
    private static func quotient(_ left: Double, _ rate: Double) -> Int64? {
        rate > 0 ? Int64(exactly: (left / rate).rounded(.up)) : nil
    }

    /// Counts bytes that arrived and transfers that ended.
    ///
    /// If nothing was counted for two spans, the rates start again at this count.
    private mutating func note(bytes: Int64, ended: Int64, at time: Int64) {
        self.bytes += bytes
        self.ended += ended
        let sample = (time: time, bytes: self.bytes, ended: self.ended)
        guard let last = newer, time - last.time < 2 * Self.span else {
            (older, newer) = (sample, sample)
            return
        }
        if time - last.time >= Self.span { (older, newer) = (last, sample) }
    }

    /// Returns the rates in bytes and transfers a second.
    ///
    /// Returns nil if too little time has passed to measure them.
    private func rates(at time: Int64) -> (bytes: Double, ended: Double)? {
        guard let older, time - older.time >= Self.shortest else { return nil }
        let seconds = Double(time - older.time) / 1000
        return (Double(bytes - older.bytes) / seconds, Double(ended - older.ended) / seconds)
    }
}

/// The bytes and transfers of a run so far, and those that are left.
///
/// A transfer is counted once, however many targets take its bytes. Copies and moves within the
/// tree are not counted.
public struct RunTotals: Sendable, Hashable {
    /// How many transfers the run has.
    public var transfers = 0
    /// How many transfers have ended, failed ones included.
    public var ended = 0
    /// How many transfers have failed.
    public var failed = 0
    /// Body bytes that arrived.
    public var bytes: Int64 = 0
    /// Body bytes of all transfers, as far as sizes are known.
    public var expectedBytes: Int64 = 0
    /// How many transfers have not ended and have no known size yet.
    public var unknownSizes = 0
    /// Bytes a second over the last seconds.
    public var rate: Int64 = 0
    /// Seconds until the last transfer ends, if the rates of the last seconds continue.
    ///
    /// While sizes are unknown, the rate is the number of transfers that end in a second. `nil`
    /// means that nothing moves, or that too little time has passed.
    public var secondsLeft: Int64?

    /// Makes the totals of a run without transfers.
    public init() {}
}

extension RunTotals {
    /// Writes the totals as members of an object.
    func writeMembers(to json: inout JSONWriter) {
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

extension Step {
    /// The body bytes that the step's transfer is expected to bring.
    ///
    /// 0 if the server most likely confirms the version that is there. `nil` means that the size of
    /// the file is not known.
    var expectedBytes: Int64? {
        if let size { return max(0, size - reusableBytes) }
        return expectsConfirmation ? 0 : nil
    }

    /// Whether the server most likely confirms the version that is there.
    var expectsConfirmation: Bool { size == nil && local?.isConfirmable == true }
}

extension StepList {
    /// The body bytes that the transfer of the step at `position` is expected to bring.
    func expectedBytes(at position: Int) -> Int64? {
        guard let fetch = plainFetch(at: position) else { return self[position].expectedBytes }
        return fetch.size
    }
}

/// What mirror does with the bytes of a transfer under way.
public enum TransferStage: String, Sendable, Hashable, CaseIterable {
    /// mirror receives the bytes.
    case receiving
    /// All bytes are here, and mirror verifies them.
    case verifying
    /// The bytes are verified, and mirror gives them their final name.
    case writing
}
