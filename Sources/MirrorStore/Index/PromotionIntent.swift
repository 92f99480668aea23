internal import MirrorModel

/// What a promotion is about to do, on the disk before it does it.
///
/// After a crash the next run reads from it which of the names hold what: the staged name holds the
/// new bytes until the rename, and afterwards, where names were exchanged, what was at the target.
struct PromotionIntent: Sendable, Hashable {
    /// The number of its row; 0 for an intent of a batch, which has none, and before it has one.
    var id: Int64 = 0
    /// What kind of name the staged one is.
    var kind: Kind
    /// Where the new bytes wait, beneath the root.
    var staged: String
    /// Where what is at the target goes while names cannot be exchanged, beneath the root.
    var aside: String?
    /// The inode of the new bytes.
    var stagedInode: UInt64
    /// Whether the existing file may be dropped even if mirror did not put it there.
    var replaces: Bool
    /// The row that the target gets.
    var record: IndexRecord

    /// What kind of name the staged one is.
    enum Kind: String, Sendable {
        /// A part, or a hidden copy beside the target: mirror's own name.
        case landing
        /// Another target, whose file is renamed.
        case move
    }
}
