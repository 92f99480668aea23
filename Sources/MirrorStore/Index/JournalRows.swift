internal import MirrorModel

/// Rows of `sets` and `set_removals`: the journals of promotions of whole sets that are under way.
enum JournalRows {
    /// Writes a journal with its removals; returns its number.
    static func put(
        _ journal: SetJournal, in database: inout Database
    ) throws(IndexError) -> Int64 {
        try database.execute(
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
        let id = database.lastRow
        for path in journal.removals {
            try database.execute("INSERT OR REPLACE INTO set_removals (set_id, path) VALUES (?, ?)")
            {
                $0.add(id)
                $0.add(path)
            }
        }
        return id
    }

    /// Says that a set's promotion is to be carried out.
    static func commit(_ id: Int64, in database: inout Database) throws(IndexError) {
        try database.execute("UPDATE sets SET is_committed = 1 WHERE id = ?") { $0.add(id) }
    }

    /// Says that a set's folder is not exchanged: its files are renamed.
    static func renameInsteadOfExchange(
        ofSet id: Int64, in database: inout Database
    ) throws(IndexError) {
        try database.execute("UPDATE sets SET folder = NULL WHERE id = ?") { $0.add(id) }
    }

    /// Forgets a set that was carried out or undone.
    static func remove(_ id: Int64, in database: inout Database) throws(IndexError) {
        try database.execute("DELETE FROM sets WHERE id = ?") { $0.add(id) }
        try database.execute("DELETE FROM set_removals WHERE set_id = ?") { $0.add(id) }
    }

    /// The sets whose promotion was not finished.
    static func journals(in database: inout Database) throws(IndexError) -> [SetJournal] {
        var journals = try database.all(
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
            journals[at].removals = try database.all(
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
    static func committed(
        of intents: [PromotionIntent], in database: inout Database
    ) throws(IndexError) -> [PromotionIntent] {
        let sets = try journals(in: &database).filter(\.isCommitted)
        return intents.filter { intent in sets.contains { $0.contains(intent) } }
    }
}
