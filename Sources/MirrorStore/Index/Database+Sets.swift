internal import MirrorModel

/// Rows of `sets`: promotions of whole sets that are under way.
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
    mutating func commitSet(_ id: Int64) throws(IndexError) {
        try execute("UPDATE sets SET is_committed = 1 WHERE id = ?") { $0.add(id) }
    }

    /// Says that a set's folder is not exchanged: its files are renamed.
    mutating func renameInsteadOfExchange(ofSet id: Int64) throws(IndexError) {
        try execute("UPDATE sets SET folder = NULL WHERE id = ?") { $0.add(id) }
    }

    /// Forgets a set that was carried out or undone.
    mutating func removeSet(_ id: Int64) throws(IndexError) {
        try execute("DELETE FROM sets WHERE id = ?") { $0.add(id) }
        try execute("DELETE FROM set_removals WHERE set_id = ?") { $0.add(id) }
    }

    /// The sets whose promotion was not finished.
    mutating func sets() throws(IndexError) -> [SetJournal] {
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

    /// The owners and stamps of the files beneath a folder.
    mutating func recordedFiles(
        beneath folder: String
    ) throws(IndexError) -> [(path: String, owners: Owners, stamp: FileStamp)] {
        // `0` follows `/`.
        try all(
            """
            SELECT path, owner, size, modified, changed, inode FROM files
            WHERE path >= ? AND path < ? ORDER BY path
            """
        ) {
            $0.add(folder + "/")
            $0.add(folder + "0")
        } read: { (row: inout Row) throws(IndexError) in
            let (path, owners) = (try row.text(), Owners(text: try row.text()))
            return (
                path, owners,
                FileStamp(
                    size: try row.int(), modified: try row.int(), changed: try row.int(),
                    inode: UInt64(bitPattern: try row.int()))
            )
        }
    }

    /// Gives the row of an unchanged file the stamp that the file has now.
    mutating func setStamp(_ stamp: FileStamp, ofFileAt path: String) throws(IndexError) {
        try execute(
            "UPDATE files SET size = ?, modified = ?, changed = ?, inode = ? WHERE path = ?"
        ) {
            $0.add(stamp.size)
            $0.add(stamp.modified)
            $0.add(stamp.changed)
            $0.add(Int64(bitPattern: stamp.inode))
            $0.add(path)
        }
    }
}

extension Index {
    /// The parts in `tmp/` that committed sets are made of: they were on the disk before the commit.
    func namesOfPromisedParts() throws(IndexError) -> Set<[UInt8]> {
        try read { (database: inout Database) throws(IndexError) in
            let sets = try database.sets().filter(\.isCommitted)
            if sets.isEmpty { return [] }
            let intents = try database.intents().filter { intent in
                sets.contains { $0.contains(intent) }
            }
            return Set(intents.map { Array(FolderCache.split($0.staged).name.utf8) })
        }
    }
}
