internal import MirrorModel

/// The journal of a set's promotion: what a run that finds it must finish, or undo.
///
/// Until it is committed, no file has its final name, and it is undone. Once it is committed and on the
/// disk, the promotion is carried out, by this run or the next.
struct SetJournal: Sendable, Hashable {
    /// The row's number; 0 before it has one.
    var id: Int64 = 0
    /// The manifests of the set.
    var owners: Owners
    /// Whether the promotion is to be carried out.
    var isCommitted = false
    /// The numbers of its intents; nil where it has none.
    var intents: ClosedRange<Int64>?
    /// The folder that is exchanged as a whole; nil where each file is renamed.
    var folder: String?
    /// Where the new folder is built, and where the old one is after the exchange.
    var aside: String?
    /// Orphans that leave with the old set.
    var removals: [String] = []

    /// Whether an intent is one of the set.
    func contains(_ intent: PromotionIntent) -> Bool { intents?.contains(intent.id) ?? false }
}
