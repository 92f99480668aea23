internal import CSQLite
internal import MirrorModel

extension Database {
    /// The largest database that is read in full when it is opened; 256 KiB are some 900 rows.
    static let smallEnoughToVerify: Int64 = 256 << 10

    /// Reads a small database in full, so that damage is found while it can still be moved aside.
    ///
    /// A larger database is not read twice. Its damage is found when its rows are needed: while a
    /// plan is made, the plan begins anew; later, the damage ends the run, and is marked for the
    /// next one. Throws `damaged`, or the disk's read error.
    mutating func verify(fileSize: Int64?) throws(IndexError) {
        guard let fileSize, (1...Database.smallEnoughToVerify).contains(fileSize) else { return }
        try check("quick_check")
        try readRows()
    }

    /// Reads everything, and compares tables with their indexes.
    mutating func verifyAll() throws(IndexError) {
        try check("integrity_check")
        try readRows()
    }

    /// Runs an integrity pragma; throws `damaged` when the pages are inconsistent.
    ///
    /// Throws the disk's error when a page cannot be read. SQLite reports both cases in the same
    /// words, and a new index cures only damage.
    mutating func check(_ pragma: String) throws(IndexError) {
        let words =
            try first("PRAGMA \(pragma)(1)") {
                (row: inout Row) throws(IndexError) in try row.text()
            } ?? "no answer to \(pragma)"
        if words == "ok" { return }
        for code in IndexError.unreadable where words.contains("error code=\(code)") {
            throw .database(code: code, words: "disk I/O error")
        }
        throw .damaged(words)
    }

    private mutating func readRows() throws(IndexError) {
        while try next(
            Database.everyRecord,
            read: { (row: inout Row) throws(IndexError) in try row.checkRecord() })
            != nil
        {}
        _ = try parts()
        _ = try intents()
        _ = try hiddenFiles()
        _ = try manifests()
        _ = try runs()
    }
}
