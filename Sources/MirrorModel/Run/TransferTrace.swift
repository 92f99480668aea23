/// When a transfer began and ended, and how its server spoke: what a run's log keeps of it.
public struct TransferTrace: Sendable, Hashable {
    /// Milliseconds from the beginning of the run's work to the first request.
    public var began: Int64
    /// Milliseconds from the beginning of the run's work to the end, good or bad.
    public var ended: Int64
    /// The version of HTTP in which the bytes or the confirmation came; nil where none came.
    public var version: HTTPVersion?
    /// Whether the server sends ranges, as far as this transfer showed it.
    public var ranges = RangeSupport.unknown

    /// Takes both times; a transfer under way has the same twice.
    public init(began: Int64, ended: Int64) {
        self.began = began
        self.ended = ended
    }
}

extension TransferTrace {
    /// Takes in the end of the transfer.
    mutating func end(_ result: TransferResult, at elapsed: Int64) {
        ended = elapsed
        switch result {
        case .received(let body): take(body.answer)
        case .notModified(let answer, _): take(answer)
        case .failed, .cancelled: break
        }
    }

    private mutating func take(_ answer: Answer) {
        version = answer.version
        ranges = answer.ranges
    }

    /// Writes the trace as members of an object.
    func writeMembers(to json: inout JSONWriter) {
        json.member("began", began)
        json.member("ended", ended)
        json.member("http", version?.rawValue)
        json.member("ranges", ranges.rawValue)
    }
}

/// Whether a server sends ranges.
public enum RangeSupport: String, Sendable, Hashable, CaseIterable {
    /// It sent the range that was asked for.
    case honoured
    /// It says that it would, and was not tried.
    case offered
    /// It sent the whole file instead, or says that it sends none.
    case refused
    /// It does not say.
    case unknown
}

extension ResponseHead {
    /// What the response says about ranges, whatever it answers (RFC 9110 §14.3).
    var announcedRanges: RangeSupport {
        if isOnly("bytes", .acceptRanges) { return .offered }
        return isOnly("none", .acceptRanges) ? .refused : .unknown
    }
}
