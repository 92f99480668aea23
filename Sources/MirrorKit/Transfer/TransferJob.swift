internal import MirrorModel

/// One fetch: everything that the transfer loop must know, with secrets filled in.
struct TransferJob: Sendable {
    /// Unique in the run.
    let id: Int
    /// Where the bytes belong; names the part, and stands in events and errors.
    let target: Target
    /// The sources in the order in which they are tried; never empty.
    let sources: [PreparedSource]
    /// The body of a POST; nil for a GET.
    let postBody: [UInt8]?
    /// What the bytes must be.
    let expectation: Expectation
    /// The version at the target, for a conditional request; nil asks for the bytes whatever is there.
    let local: LocalVersion?
    /// The part that may be continued; the loop cuts it to what it can vouch for first.
    let part: PartRecord?
    /// Higher first.
    let priority: Int32
    /// Whether its failure ends everything: no other job begins before that was heard.
    var isDecisive = false

    /// Whether its answer is expected to take a round trip and little more.
    var isBrief: Bool {
        local != nil || expectation.size.map { $0 <= Int64(IncomingBody.memoryLimit) } ?? false
    }
}

/// A source whose header values have been filled in.
struct PreparedSource: Sendable {
    /// Where the bytes are.
    let url: SourceURL
    /// The name under which the source is remembered.
    let key: SourceKey
    /// Names and values, secrets included: never printed, sent to the URL's own origin only.
    let headers: [(name: String, value: String)]
}

/// What a transfer tells while it runs.
enum TransferNews: Sendable {
    /// A request is about to be made, or a source file read; sent once a job.
    case started(source: String, size: Int64?, offset: Int64)
    /// Bytes on disk or in memory so far, at most twice a second.
    case progress(bytes: Int64, size: Int64?, bytesPerSecond: Int64)
    /// A passing failure; the next request comes after so many milliseconds.
    case retry(cause: MirrorError, attempt: Int, waitMilliseconds: Int64)
    /// The bytes so far belong to another version, or cannot be continued.
    case restart(cause: MirrorError, attempt: Int)
    /// The last news of a job.
    case ended(TransferResult)
}

/// How a transfer ended.
enum TransferResult: Sendable {
    /// All bytes are here and are what was expected.
    case received(ReceivedBody)
    /// The source confirmed the local version.
    case notModified(Confirmation, TransferCost)
    /// No source could give the bytes; a part, where one was begun, stays.
    case failed(MirrorError, TransferCost)
    /// Cancelled; the part stays unless it was to be discarded.
    case cancelled(TransferCost)
}

/// What a transfer cost.
struct TransferCost: Sendable, Hashable {
    /// Requests made, redirects and retries included.
    var requests = 0
    /// Body bytes that arrived.
    var bytesReceived: Int64 = 0
    /// Bytes of the part that were not fetched again.
    var bytesReused: Int64 = 0
}

/// What an answer said besides its body.
struct Confirmation: Sendable, Hashable {
    /// What was asked and what answered.
    var provenance: Provenance
    /// The validators as sent, judged.
    var validators: Validators
    /// The media type without parameters.
    var mediaType: String?
    /// Until when HTTP caching calls it fresh; nil when the answer does not say.
    var freshUntil: Instant?
    /// The URL that answered, for people: no query.
    var source: String
}

/// A complete body whose size and digests hold.
struct ReceivedBody: Sendable {
    /// Where the bytes are.
    enum Content: Sendable {
        /// A small body that never touched the disk.
        case memory([UInt8])
        /// A complete part in `tmp/`, by its file name, and its stamp when it was verified.
        case part(String, FileStamp)
    }

    var content: Content
    var size: Int64
    var sha256: Digest
    /// The declared digest of another algorithm that held, strongest only.
    var otherDigest: Digest?
    var verified: Verification
    var answer: Confirmation
    /// Last component of the name that Content-Disposition suggests, not yet a target.
    var suggestedName: String?
    var cost: TransferCost
}

/// Where the transfer loop keeps parts: the tree's `tmp/` and the index, behind one door.
///
/// Called on several threads; implementations are quick and thread-safe.
protocol PartStore: Sendable {
    /// Makes an empty part: first its row, then its file.
    func create(_ record: PartRecord) throws(MirrorError) -> PartFile
    /// Opens a part that a row speaks of; nil when there is no such regular file.
    func open(_ record: PartRecord) throws(MirrorError) -> PartFile?
    /// Puts what changed about a part (total, provenances, runs) into its row.
    func update(_ record: PartRecord) throws(MirrorError)
    /// Logs that the part has these bytes from a position on, up to a length counted from there.
    func log(_ milestone: Milestone, from start: Int64, part name: String) throws(MirrorError)
    /// Removes the file and the row.
    func discard(part name: String) throws(MirrorError)
}
