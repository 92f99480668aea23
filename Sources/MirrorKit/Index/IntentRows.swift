internal import MirrorModel
internal import MirrorSystem

/// What a promotion is about to do, on the disk before it does it.
///
/// After a crash the next run reads from it which of the names hold what: the staged name holds the
/// new bytes until the rename, and afterwards, where names were exchanged, what was at the target.
struct PromotionIntent: Sendable, Hashable {
    /// The number of its row; 0 before it has one.
    var id: Int64 = 0
    /// What kind of name the staged one is.
    var kind: Kind
    /// The path of the new bytes before the promotion, relative to the root.
    var staged: String
    /// Where the target's old content goes if names cannot be exchanged, relative to the root.
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
        case promotion
        /// Another target, whose file is renamed.
        case move
    }
}

private let columns =
    "kind, staged, aside, staged_inode, replaces, \(Schema.recordColumns)"
private let insertion =
    "INSERT INTO intents (\(columns)) VALUES (?, ?, ?, ?, ?, \(Schema.recordParameters))"

/// Rows of `intents`: promotions that are under way.
extension Database {
    /// Writes an intent; returns its number.
    mutating func put(_ intent: PromotionIntent) throws(IndexError) -> Int64 {
        try execute(insertion) {
            $0.add(intent.kind.rawValue)
            $0.add(intent.staged)
            $0.add(intent.aside)
            $0.add(Int64(bitPattern: intent.stagedInode))
            $0.add(intent.replaces ? 1 : 0)
            $0.add(intent.record, stamp: intent.record.stamp)
        }
        return lastRow
    }

    /// The intents that were not settled, in the order in which they were written.
    mutating func intents() throws(IndexError) -> [PromotionIntent] {
        try all("SELECT id, \(columns) FROM intents ORDER BY id") {
            (row: inout Row) throws(IndexError) in
            let id = try row.int()
            guard let kind = PromotionIntent.Kind(rawValue: try row.text()) else {
                throw row.nonsense()
            }
            return PromotionIntent(
                id: id, kind: kind, staged: try row.placePath(), aside: try row.optionalPlacePath(),
                stagedInode: UInt64(bitPattern: try row.int()), replaces: try row.int() != 0,
                record: try row.record())
        }
    }

    /// Forgets intents that were settled, by their numbers.
    mutating func removeIntents(_ numbers: [Int64]) throws(IndexError) {
        for number in numbers {
            try execute("DELETE FROM intents WHERE id = ?") { $0.add(number) }
        }
    }
}

extension Row {
    /// A column that holds the path of a target or of a part, or NULL.
    mutating func optionalPlacePath() throws(IndexError) -> String? {
        guard let path = try optionalText() else { return nil }
        switch Target.flaw(in: path) {
        case nil, .partName: return path
        case .longPath where Target.isHidden(PathText.name(of: path)):
            // It is longer than the path of the target that it stands beside.
            guard Target.flaw(in: PathText.folder(of: path) + "/f") == nil else {
                throw nonsense()
            }
            return path
        default: throw nonsense()
        }
    }

    /// A column that holds the path of a target or of a part.
    mutating func placePath() throws(IndexError) -> String {
        guard let path = try optionalPlacePath() else { throw nonsense() }
        return path
    }
}

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

/// Rows of `sets` and `set_removals`: the journals of promotions of whole sets that are under way.
extension Database {
    /// Writes a journal with its removals; returns its number.
    mutating func put(_ journal: SetJournal) throws(IndexError) -> Int64 {
        try execute(
            """
            INSERT INTO sets (owners, is_committed, first_intent, last_intent, folder, aside)
            VALUES (?, ?, ?, ?, ?, ?)
            """
        ) {
            $0.add(journal.owners.text)
            $0.add(journal.isCommitted ? 1 : 0)
            $0.add(journal.intents?.lowerBound ?? 0)
            $0.add(journal.intents?.upperBound ?? -1)
            $0.add(journal.folder)
            $0.add(journal.aside)
        }
        let id = lastRow
        for path in journal.removals {
            try execute("INSERT OR REPLACE INTO set_removals (set_id, path) VALUES (?, ?)") {
                $0.add(id)
                $0.add(path)
            }
        }
        return id
    }

    /// Says that a set's promotion is to be carried out.
    mutating func commitJournal(_ id: Int64) throws(IndexError) {
        try execute("UPDATE sets SET is_committed = 1 WHERE id = ?") { $0.add(id) }
    }

    /// Says that a set's folder is not exchanged: its files are renamed.
    mutating func renameInsteadOfExchange(ofSet id: Int64) throws(IndexError) {
        try execute("UPDATE sets SET folder = NULL WHERE id = ?") { $0.add(id) }
    }

    /// Forgets a set that was carried out or undone.
    mutating func removeJournal(_ id: Int64) throws(IndexError) {
        try execute("DELETE FROM sets WHERE id = ?") { $0.add(id) }
        try execute("DELETE FROM set_removals WHERE set_id = ?") { $0.add(id) }
    }

    /// The sets whose promotion was not finished.
    mutating func journals() throws(IndexError) -> [SetJournal] {
        var journals = try all(
            """
            SELECT id, owners, is_committed, first_intent, last_intent, folder, aside
            FROM sets ORDER BY id
            """
        ) { (row: inout Row) throws(IndexError) in
            var journal = SetJournal(id: try row.int(), owners: Owners(text: try row.text()))
            journal.isCommitted = try row.int() != 0
            let (first, last) = (try row.int(), try row.int())
            if first <= last { journal.intents = first...last }
            journal.folder = try row.optionalPlacePath()
            journal.aside = try row.optionalPlacePath()
            return journal
        }
        for at in journals.indices {
            let id = journals[at].id
            journals[at].removals = try all(
                "SELECT path FROM set_removals WHERE set_id = ? ORDER BY path"
            ) {
                $0.add(id)
            } read: { (row: inout Row) throws(IndexError) in
                try row.placePath()
            }
        }
        return journals
    }

    /// Those of some intents that are of committed sets: what these are made of was on the disk
    /// before the commit.
    mutating func committed(of intents: [PromotionIntent]) throws(IndexError) -> [PromotionIntent] {
        let sets = try journals().filter(\.isCommitted)
        return intents.filter { intent in sets.contains { $0.contains(intent) } }
    }
}

/// Rows of `hidden_files`: files beside targets that a run makes for a moment, and may leave there.
extension Database {
    /// Notes the path of a hidden file beside a target, before the file is made.
    mutating func noteHiddenFile(_ path: String) throws(IndexError) {
        try execute("INSERT OR REPLACE INTO hidden_files (path) VALUES (?)") {
            $0.add(path)
        }
    }

    /// Forgets a hidden file that no longer exists.
    mutating func forgetHiddenFile(_ path: String) throws(IndexError) {
        try execute("DELETE FROM hidden_files WHERE path = ?") { $0.add(path) }
    }

    /// The hidden files that a run may have left.
    mutating func hiddenFiles() throws(IndexError) -> [String] {
        try all("SELECT path FROM hidden_files ORDER BY path") {
            (row: inout Row) throws(IndexError) in
            let path = try row.placePath()
            guard Target.isHidden(FolderCache.split(path).name) else { throw row.nonsense() }
            return path
        }
    }
}

/// What a reader sees of a set whose promotion is under way, or was interrupted.
///
/// Some of its files have their new versions, and their rows are written last. For a reader the row of
/// such a file is the one that the journal has.
extension Database {
    /// A view in the place of `files`, for one connection; nil where no committed set is in the journal.
    mutating func viewOfPromoted(of root: RootDirectory) throws(IndexError) -> String? {
        let sets = try journals().filter(\.isCommitted)
        if sets.isEmpty { return nil }
        var scan = StatCursor(root)
        var promoted: [String] = []
        for intent in try intents()
        where sets.contains(where: { $0.contains(intent) }) {
            // The rename kept the inode; the stamp is told apart later, and the file is read then.
            if case .file(let stamp)? = try? scan.look(at: intent.record.target),
                stamp.inode == intent.stagedInode, stamp.size == intent.record.stamp.size
            {
                promoted.append(String(intent.id))
            }
        }
        let numbers = promoted.joined(separator: ", ")
        let columns = Schema.recordColumns
        return """
            DROP VIEW IF EXISTS temp.files;
            CREATE TEMP VIEW files AS
            SELECT \(columns) FROM main.files WHERE path NOT IN (
                SELECT path FROM main.intents WHERE id IN (\(numbers)))
            UNION ALL
            SELECT \(columns) FROM main.intents WHERE id IN (\(numbers));
            """
    }
}
