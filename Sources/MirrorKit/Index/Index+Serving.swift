/// Queries for a server of the tree: they read few columns of the rows of files, one query a call.
extension Index {
    private static let servedColumns = "path, size, modified, changed, inode, sha256, media_type"
    /// The most files of one digest that a query returns. At least one is expected to be unchanged.
    ///
    /// A tree may have a hundred thousand empty files.
    private static let mostCopies = 64

    /// What the index knows of a target's file. Returns nil if the target has no row.
    func servedFile(at target: Target) throws(MirrorError) -> ServedFile? {
        try each { (database: inout Database, counts) throws(IndexError) in
            guard counts(target) else { return nil }
            return try database.first("SELECT \(Index.servedColumns) FROM files WHERE path = ?") {
                $0.add(target.path)
            } read: { (row: inout Row) throws(IndexError) -> ServedFile in
                try row.servedFile()
            }
        }.lazy.compactMap(\.self).first
    }

    /// The versions that unfinished promotions give a target; each may be in place already.
    func intendedFiles(at target: Target) throws(MirrorError) -> [ServedFile] {
        try each { (database: inout Database, _) throws(IndexError) in
            try database.all("SELECT \(Index.servedColumns) FROM intents WHERE path = ?") {
                $0.add(target.path)
            } read: { (row: inout Row) throws(IndexError) in
                try row.servedFile()
            }
        }.flatMap(\.self)
    }

    /// The files with a digest whose paths are in a range: from `from` up to, not including, `to`.
    ///
    /// Returns at most 64 files.
    func servedFiles(
        with sha256: Digest, in ranges: [(from: String, to: String?)]
    ) throws(MirrorError) -> [ServedFile] {
        let found = try each { (database: inout Database, counts) throws(IndexError) in
            var files: [ServedFile] = []
            for range in ranges where files.count < Index.mostCopies {
                let end = range.to == nil ? "" : " AND path < ?"
                files += try database.all(
                    """
                    SELECT \(Index.servedColumns) FROM files \
                    WHERE path >= ?\(end) AND +sha256 = ? LIMIT ?
                    """
                ) {
                    $0.add(range.from)
                    if let last = range.to { $0.add(last) }
                    $0.add(sha256.bytes)
                    $0.add(Int64(Index.mostCopies - files.count))
                } read: { (row: inout Row) throws(IndexError) in
                    try row.servedFile()
                }
            }
            return files.filter { counts($0.target) }
        }
        return Array(found.joined().prefix(Index.mostCopies))
    }

    /// The next files under a folder in the order of their paths' bytes, at most `most`.
    ///
    /// - Parameters:
    ///   - folder: the folder's path with the slash at its end; empty for all files.
    ///   - start: the path to begin at; the result has this path too if `isIncluded`.
    func servedFiles(
        beneath folder: String, from start: String, isIncluded: Bool, most: Int64
    ) throws(MirrorError) -> [ServedFile] {
        // "0" is the byte after "/", so it ends the range of paths that begin with the folder's
        // path.
        let end = folder.isEmpty ? "" : " AND path < ?"
        let sign = isIncluded ? ">=" : ">"
        let sql = """
            SELECT \(Index.servedColumns) FROM files WHERE path \(sign) ?\(end) ORDER BY path LIMIT ?
            """
        if !members.isEmpty {
            return try servedFiles(
                beneath: folder, joinedFrom: start, isIncluded: isIncluded, most: most)
        }
        return try reading { (database: inout Database) throws(IndexError) in
            try database.all(sql) {
                $0.add(start)
                if !folder.isEmpty { $0.add(folder.prefix(bytes: folder.utf8.count - 1) + "0") }
                $0.add(most)
            } read: { (row: inout Row) throws(IndexError) in
                try row.servedFile()
            }
        }
    }

    /// The same files of the indexes that this one joins.
    private func servedFiles(
        beneath folder: String, joinedFrom start: String, isIncluded: Bool, most: Int64
    ) throws(MirrorError) -> [ServedFile] {
        var cursor = try projectionCursor(from: start)
        var files: [ServedFile] = []
        while files.count < most, try cursor.next() {
            let record = try cursor.wholeRecord()
            guard record.target.path.utf8.starts(with: folder.utf8) else { break }
            if !isIncluded, record.target.path == start { continue }
            files.append(
                ServedFile(
                    target: record.target, stamp: record.stamp, sha256: record.sha256,
                    mediaType: record.mediaType))
        }
        return files
    }
}

extension Row {
    fileprivate mutating func servedFile() throws(IndexError) -> ServedFile {
        let target = try target()
        return ServedFile(
            target: target, stamp: try stamp(), sha256: try digest(.sha256),
            mediaType: try optionalText())
    }
}
