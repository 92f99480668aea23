package import MirrorModel

/// Where the transfer loop keeps parts: the tree's `tmp/` and the index, behind one door.
///
/// Called on several threads; implementations are quick and thread-safe.
package protocol PartStore: Sendable {
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
