internal import CSQLite
internal import MirrorModel

/// The search for damage in a database: SQLite's own check, and a look at the rows that runs
/// rely on.
enum IndexCheck {
    /// The largest database that is read in full when it is opened: some 450 rows, in less than a millisecond.
    static let smallEnoughToVerify: Int64 = 128 << 10

    /// Reads a small database in full, so that damage is found while it can still be moved aside.
    ///
    /// A larger database is not read twice. Its damage is found when its rows are needed: while a
    /// plan is made, the plan begins anew; later, the damage ends the run, and is marked for the
    /// next one. Throws `damaged`, or the disk's read error.
    static func verify(fileSize: Int64?, in database: inout Database) throws(IndexError) {
        guard let fileSize, (1...smallEnoughToVerify).contains(fileSize) else { return }
        try check("quick_check", in: &database)
        try readRows(in: &database)
    }

    /// Reads everything, and compares tables with their indexes.
    static func verifyAll(in database: inout Database) throws(IndexError) {
        try check("integrity_check", in: &database)
        try readRows(in: &database)
    }

    /// Runs an integrity pragma; throws `damaged` when the pages are inconsistent.
    ///
    /// Throws the disk's error when a page cannot be read. SQLite reports both cases in the same
    /// words, and a new index cures only damage.
    static func check(_ pragma: String, in database: inout Database) throws(IndexError) {
        let words =
            try database.first("PRAGMA \(pragma)(1)") {
                (row: inout Row) throws(IndexError) in try row.text()
            } ?? "no answer to \(pragma)"
        if words == "ok" { return }
        for code in IndexError.unreadable where words.contains("error code=\(code)") {
            throw .database(code: code, words: "disk I/O error")
        }
        throw .damaged(faults(in: words))
    }

    /// What a pragma found, in one line: it names the database in a line of its own before it.
    private static func faults(in words: String) -> String {
        words.split(separator: "\n").filter { !$0.hasPrefix("***") }.joined(separator: "; ")
    }

    private static func readRows(in database: inout Database) throws(IndexError) {
        while try database.next(
            FileRows.everyRecord,
            read: { (row: inout Row) throws(IndexError) in try row.checkRecord() })
            != nil
        {}
        _ = try PartRows.parts(in: &database)
        _ = try IntentRows.intents(in: &database)
        _ = try HiddenFileRows.paths(in: &database)
        _ = try ManifestRows.manifests(in: &database)
        _ = try RunRows.runs(in: &database)
    }
}
