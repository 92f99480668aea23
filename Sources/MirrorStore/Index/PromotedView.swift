internal import MirrorModel
internal import MirrorSystem

/// What a reader sees of a set whose promotion is under way, or was interrupted.
///
/// Some of its files have their new versions, and their rows are written last. For a reader the row of
/// such a file is the one that the journal has.
enum PromotedView {
    /// A view in the place of `files`, for one connection; nil where no committed set is in the journal.
    static func sql(
        of root: RootDirectory, in database: inout Database
    ) throws(IndexError) -> String? {
        let sets = try JournalRows.journals(in: &database).filter(\.isCommitted)
        if sets.isEmpty { return nil }
        var scan = StatCursor(root)
        var promoted: [String] = []
        for intent in try IntentRows.intents(in: &database)
        where sets.contains(where: { $0.contains(intent) }) {
            // The rename kept the inode; the stamp is told apart later, and the file is read then.
            if case .file(let stamp, _)? = try? scan.look(at: intent.record.target),
                stamp.inode == intent.stagedInode, stamp.size == intent.record.stamp.size
            {
                promoted.append(String(intent.id))
            }
        }
        let numbers = promoted.joined(separator: ", ")
        let records = Schema.records(ofVersion: try database.number("PRAGMA user_version"))
        return """
            DROP VIEW IF EXISTS temp.files;
            CREATE TEMP VIEW files AS
            \(records.files) WHERE path NOT IN (
                SELECT path FROM main.intents WHERE id IN (\(numbers)))
            UNION ALL
            \(records.intents) WHERE id IN (\(numbers));
            """
    }
}
