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
