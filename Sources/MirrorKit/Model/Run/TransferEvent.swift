/// A report of a running transfer.
enum TransferEvent: Sendable {
    /// The transfer is about to send a request or to read a source file. This comes once a job.
    case started(source: String, size: Int64?, offset: Int64)
    /// The bytes on disk or in memory so far. This comes at most twice a second.
    case progress(bytes: Int64, size: Int64?, bytesPerSecond: Int64)
    /// All bytes of a large file are on the disk, but its digests are not known yet.
    case verifying(bytes: Int64)
    /// A failure that may pass. The next request follows after `waitMilliseconds`.
    case retry(
        cause: MirrorError, attempt: Int, waitMilliseconds: Int64,
        tries: (next: Int, most: Int)? = nil)
    /// The transfer drops its bytes: they are of another version, or cannot be continued.
    case restart(cause: MirrorError, attempt: Int)
    /// A place in front of the sources is asked no more. The text is a sentence for people.
    case warning(String)
    /// The last event of a job.
    case ended(TransferResult)
}

/// How a transfer ended.
enum TransferResult: Sendable {
    /// All bytes are here and match what was expected.
    case received(ReceivedBody)
    /// The source confirmed the local version.
    case notModified(Answer, TransferCost)
    /// No source could give the bytes. If a part was begun, it stays.
    case failed(MirrorError, TransferCost)
    /// There is no room for the body, on the disk or within the quota. Its part was dropped.
    case leftOut(Reason, TransferCost)
    /// The transfer was cancelled. Its part stays unless it was to be discarded.
    case cancelled(TransferCost)
}

extension TransferResult {
    /// The cost of the transfer.
    var cost: TransferCost {
        switch self {
        case .received(let body): body.cost
        case .notModified(_, let cost), .failed(_, let cost), .leftOut(_, let cost),
            .cancelled(let cost):
            cost
        }
    }
}

/// The cost of a transfer.
struct TransferCost: Sendable, Hashable {
    /// Requests made, redirects and retries included.
    var requests = 0
    /// Body bytes that arrived.
    var bytesReceived: Int64 = 0
    /// Bytes of the part that were not fetched again.
    var bytesReused: Int64 = 0

    /// Takes all values, by default those of a transfer that has done nothing.
    init(requests: Int = 0, bytesReceived: Int64 = 0, bytesReused: Int64 = 0) {
        self.requests = requests
        self.bytesReceived = bytesReceived
        self.bytesReused = bytesReused
    }
}

/// A complete body with the right size and digests.
///
/// It is a class, because the loop, the run and the promotion pass it on.
final class ReceivedBody: Sendable {
    /// The bytes: in memory if they were never written to the disk, else in a complete part.
    let content: Promotion.Content
    let size: Int64
    let sha256: Digest
    /// The strongest declared digest of another algorithm; the bytes have this digest.
    let otherDigest: Digest?
    let verified: Verification
    let answer: Answer
    let cost: TransferCost

    /// Takes the body's place, its digests, and the response's facts.
    init(
        content: Promotion.Content, size: Int64, sha256: Digest, otherDigest: Digest?,
        verified: Verification,
        answer: Answer, cost: TransferCost
    ) {
        self.content = content
        self.size = size
        self.sha256 = sha256
        self.otherDigest = otherDigest
        self.verified = verified
        self.answer = answer
        self.cost = cost
    }
}

extension TransferEvent {
    /// Returns the event that reports a transfer under way.
    ///
    /// Returns nil for an end that leaves mirror no part to promote.
    func news(of step: Step) -> Event.Body? {
        switch self {
        case .started(let source, let size, let offset):
            .start(
                .init(
                    target: step.target, step: step.kind, reason: step.reason, source: source,
                    size: size ?? step.size, offset: offset))
        case .progress(let bytes, let size, let rate):
            .progress(.init(target: step.target, bytes: bytes, size: size, rate: rate))
        case .verifying(let bytes):
            .progress(
                .init(target: step.target, bytes: bytes, size: bytes, rate: 0, stage: .verifying))
        case .retry(let cause, let attempt, let wait, let tries):
            .retry(
                .init(
                    target: step.target, cause: cause, attempt: attempt, wait: wait, tries: tries))
        case .restart(let cause, let attempt):
            .restart(.init(target: step.target, cause: cause, attempt: attempt, wait: 0))
        case .warning(let text): .warning(text)
        case .ended(.received(let body)):
            switch body.content {
            // mirror promotes a small body before a reader could look.
            case .memory: nil
            default:
                .progress(
                    .init(
                        target: step.target, bytes: body.size, size: body.size, rate: 0,
                        stage: .writing))
            }
        case .ended: nil
        }
    }
}

/// What the log of a run keeps of a transfer: its times, and how its server answered.
package struct TransferTrace: Sendable, Hashable {
    /// Milliseconds from the beginning of the run's work to the first request.
    package var began: Int64
    /// Milliseconds from the beginning of the run's work to the end, good or bad.
    package var ended: Int64
    /// The HTTP version of the response with the bytes or the confirmation. `nil` without either.
    package var version: HTTPVersion?
    /// Whether the server sends ranges, as far as this transfer showed it.
    package var ranges = RangeSupport.unknown
}

extension TransferTrace {
    /// Records the end of the transfer.
    mutating func end(_ result: TransferResult, at elapsed: Int64) {
        ended = elapsed
        switch result {
        case .received(let body): take(body.answer)
        case .notModified(let answer, _): take(answer)
        case .failed, .leftOut, .cancelled: break
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
package enum RangeSupport: String, Sendable, Hashable, CaseIterable {
    /// The server sent the range that was asked for.
    case honoured
    /// The server says that it sends ranges, and was not asked for one.
    case offered
    /// The server sent the whole file instead, or says that it sends no ranges.
    case refused
    /// The server does not say whether it sends ranges.
    case unknown
}

extension ResponseHead {
    /// What the response's Accept-Ranges says, whatever its status is (RFC 9110 §14.3).
    var announcedRanges: RangeSupport {
        if isOnly("bytes", .acceptRanges) { return .offered }
        return isOnly("none", .acceptRanges) ? .refused : .unknown
    }
}
