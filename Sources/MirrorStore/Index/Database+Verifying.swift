internal import CSQLite
internal import MirrorModel

extension Database {
    /// Up to this size a database is read through when it is opened; 8 MiB are some 30,000 rows.
    static let smallEnoughToVerify: Int64 = 8 << 20

    /// Reads a small database through, so that damage is found while it can still be moved aside.
    ///
    /// A large one is not read twice: its damage is found when its rows are needed, ends the run, and
    /// is marked for the next one. Throws `damaged`, or what the disk could not read.
    mutating func verify(fileSize: Int64?) throws(IndexError) {
        guard let fileSize, (1...Database.smallEnoughToVerify).contains(fileSize) else { return }
        try check("quick_check")
        try readRows()
    }

    /// Reads everything, and holds tables and their indexes against each other.
    mutating func verifyAll() throws(IndexError) {
        try check("integrity_check")
        try readRows()
    }

    /// Throws `damaged` when the pages make no sense, and the disk's error when one cannot be read:
    /// SQLite tells both in the same words, and only the first is cured by a new index.
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
