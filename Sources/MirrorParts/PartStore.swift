package import MirrorModel

/// Stores the parts of the transfer loop, in the tree's `tmp/` and in the index.
///
/// Several threads call it; implementations are quick and thread-safe.
package protocol PartStore: Sendable {
    /// Creates an empty part: first its row, then its file.
    func create(_ record: PartRecord) throws(MirrorError) -> PartFile
    /// Opens the part of a row; nil when there is no such regular file.
    func open(_ record: PartRecord) throws(MirrorError) -> PartFile?
    /// Writes the changed values of a part (total, provenances, runs) into its row.
    func update(_ record: PartRecord) throws(MirrorError)
    /// Logs that the part holds the bytes of a milestone; its length counts from `start`.
    func log(_ milestone: Milestone, from start: Int64, part name: String) throws(MirrorError)
    /// Removes the file and the row.
    func discard(part name: String) throws(MirrorError)
}
