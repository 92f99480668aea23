internal import MirrorModel

/// A verified body on its way to its final name.
struct Landing: Sendable {
    /// Where it belongs.
    let target: Target
    /// The bytes: in memory, a part in `tmp/`, or a file of the tree to copy from.
    let content: Content
    /// The row that is written when it is there. Its stamp has the verified size; the rest of the
    /// stamp is filled in by the promotion.
    let record: IndexRecord
    /// What was at the target when the plan was made; anything else found there now is a conflict.
    let occupant: Occupant
    /// The modification time that the file gets, in seconds since the Unix epoch.
    let modified: Int64
    /// Whether the mode is 0755 instead of 0644.
    let isExecutable: Bool
    /// What happens to other people's bytes.
    let onConflict: ConflictPolicy

    /// The bytes that wait in memory for it.
    var bytesInMemory: Int {
        if case .memory(let bytes) = content { return bytes.count }
        return 0
    }

    enum Content: Sendable {
        case memory([UInt8])
        /// A part by its file name, and the stamp that its file had when its bytes were verified.
        case part(String, FileStamp)
        /// Bytes that are elsewhere in the tree (or at a `file:` source that is inside it): reflink,
        /// else copy; the sha256 is computed from the copy and must be the record's.
        case copy(of: Target)
        /// An unchanged orphan that is renamed.
        case move(of: Target)
    }

    enum Occupant: Sendable, Hashable {
        case nothing
        /// The version that the index says mirror put there, with its stamp as last seen.
        case ours(FileStamp)
        /// Other bytes, to be treated as the conflict policy says.
        case foreign(FileStamp)
    }
}

/// How a landing ended.
enum LandingResult: Sendable {
    /// The file is at its final name, on the disk, and in the index.
    case landed(IndexRecord, conflict: Target?)
    /// Nothing changed at the final name.
    case failed(MirrorError)
}
