/// What a promotion will do. Its row is on the disk before the promotion begins.
///
/// After a crash the next run reads from this row what each name holds. The staged name holds the
/// new bytes until the rename. If the promotion exchanged two names, the staged name then holds the
/// target's old content.
struct PromotionIntent: Sendable, Hashable {
    /// The number of the intent's row; 0 before the row is written.
    var id: Int64 = 0
    /// Whether the staged name is mirror's own or another target.
    var kind: Kind
    /// The staged name: the path of the new bytes before the promotion, relative to the root.
    var staged: String
    /// The path for the target's old content if names cannot be exchanged, relative to the root.
    var aside: String?
    /// The inode of the new bytes.
    var stagedInode: UInt64
    /// Whether the promotion may replace a file that mirror did not put there.
    var replaces: Bool
    /// The row that the target gets.
    var record: IndexRecord

    /// The kinds of staged names.
    package enum Kind: String, Sendable {
        /// A part, or a hidden copy beside the target. The name belongs to mirror.
        case promotion
        /// Another target. The promotion renames its file.
        case move
    }
}

private let columns =
    "kind, staged, aside, staged_inode, replaces, \(Schema.recordColumns)"
private let insertion =
    "INSERT INTO intents (\(columns)) VALUES (?, ?, ?, ?, ?, \(Schema.recordParameters))"

/// Rows of `intents`: promotions under way.
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

    /// The unsettled intents, in the order in which they were written.
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

    /// Removes the rows of settled intents, by their numbers.
    mutating func removeIntents(_ numbers: [Int64]) throws(IndexError) {
        for number in numbers {
            try execute("DELETE FROM intents WHERE id = ?") { $0.add(number) }
        }
    }
}

extension Row {
    /// Reads the path of a target or of a part. Returns nil for NULL.
    mutating func optionalPlacePath() throws(IndexError) -> String? {
        guard let path = try optionalText() else { return nil }
        switch Target.flaw(in: path) {
        case nil, .partName: return path
        case .longPath where Target.isHidden(PathText.name(of: path)):
            // A hidden file beside a target has a longer name than the target. Only its folder's
            // length counts.
            guard Target.flaw(in: PathText.folder(of: path) + "/f") == nil else {
                throw nonsense()
            }
            return path
        default: throw nonsense()
        }
    }

    /// Reads the path of a target or of a part. Throws for NULL.
    mutating func placePath() throws(IndexError) -> String {
        guard let path = try optionalPlacePath() else { throw nonsense() }
        return path
    }
}

/// The journal of a set's promotion: the next run finishes or undoes it after a crash.
///
/// Before the journal is committed, no file has its final name, and the recovery undoes the
/// promotion. After the commit is on the disk, this run or the next carries the promotion out.
struct SetJournal: Sendable, Hashable {
    /// The row's number; 0 before it has one.
    var id: Int64 = 0
    /// The manifests of the set.
    var owners: Owners
    /// Whether the promotion must be carried out.
    var isCommitted = false
    /// The numbers of the set's intents. `nil` means that the set has none.
    var intents: ClosedRange<Int64>?
    /// The folder that is exchanged as a whole. `nil` means that each file is renamed.
    var folder: String?
    /// Where the new folder is built. After the exchange, the old folder is there.
    var aside: String?
    /// The paths of orphans that are removed with the old set.
    var removals: [String] = []

    /// Whether an intent belongs to the set.
    func contains(_ intent: PromotionIntent) -> Bool { intents?.contains(intent.id) ?? false }
}

/// Rows of `sets` and `set_removals`: the journals of sets whose promotion is under way.
extension Database {
    /// Writes a journal with its removals; returns the number of its row.
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

    /// Marks a set's promotion as one that must be carried out.
    mutating func commitJournal(_ id: Int64) throws(IndexError) {
        try execute("UPDATE sets SET is_committed = 1 WHERE id = ?") { $0.add(id) }
    }

    /// Records that the files of a set are renamed one by one, and its folder is not exchanged.
    mutating func renameInsteadOfExchange(ofSet id: Int64) throws(IndexError) {
        try execute("UPDATE sets SET folder = NULL WHERE id = ?") { $0.add(id) }
    }

    /// Removes the journal of a set that was carried out or undone.
    mutating func removeJournal(_ id: Int64) throws(IndexError) {
        try execute("DELETE FROM sets WHERE id = ?") { $0.add(id) }
        try execute("DELETE FROM set_removals WHERE set_id = ?") { $0.add(id) }
    }

    /// The journals of sets whose promotion was not finished.
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

    /// The given intents that belong to committed sets.
    ///
    /// The new bytes of these intents were on the disk before the commit.
    mutating func committed(of intents: [PromotionIntent]) throws(IndexError) -> [PromotionIntent] {
        let sets = try journals().filter(\.isCommitted)
        return intents.filter { intent in sets.contains { $0.contains(intent) } }
    }
}

/// Rows of `hidden_files`: temporary files beside targets, which a killed run may leave there.
extension Database {
    /// Notes the path of a hidden file beside a target, before the file is made.
    mutating func noteHiddenFile(_ path: String) throws(IndexError) {
        try execute("INSERT OR REPLACE INTO hidden_files (path) VALUES (?)") {
            $0.add(path)
        }
    }

    /// Removes the row of a hidden file that no longer exists.
    mutating func forgetHiddenFile(_ path: String) throws(IndexError) {
        try execute("DELETE FROM hidden_files WHERE path = ?") { $0.add(path) }
    }

    /// The paths of hidden files that a run may have left.
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
/// Some files of such a set have their new versions, and their rows are written last. For each such
/// file, a reader gets the row from the journal's intents.
extension Database {
    /// The SQL of a view that replaces `files` in one connection.
    ///
    /// Returns nil if the journal has no committed set.
    mutating func viewOfPromoted(of root: RootDirectory) throws(IndexError) -> String? {
        let sets = try journals().filter(\.isCommitted)
        if sets.isEmpty { return nil }
        var scan = StatCursor(root)
        var promoted: [String] = []
        for intent in try intents()
        where sets.contains(where: { $0.contains(intent) }) {
            // The rename kept the inode. If the stamp differs otherwise, the reader of the view
            // reads the file.
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
