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
