internal import MirrorModel

/// The rows of files as a server of the tree asks for them: few columns, and one answer a call.
extension Index {
    private static let servedColumns = "path, size, modified, changed, inode, sha256, media_type"
    /// Of so many files with the same bytes one is expected to be as it was put there. A tree may have
    /// a hundred thousand empty files.
    private static let mostCopies = 64

    /// What the index knows of a target's file.
    func servedFile(at target: Target) throws(MirrorError) -> ServedFile? {
        try reading { (database: inout Database) throws(IndexError) in
            try database.first("SELECT \(Index.servedColumns) FROM files WHERE path = ?") {
                $0.add(target.path)
            } read: { (row: inout Row) throws(IndexError) in
                try row.servedFile()
            }
        }
    }

    /// The versions that a promotion is about to put at a target, or has put there without saying so yet.
    func intendedFiles(at target: Target) throws(MirrorError) -> [ServedFile] {
        try reading { (database: inout Database) throws(IndexError) in
            try database.all("SELECT \(Index.servedColumns) FROM intents WHERE path = ?") {
                $0.add(target.path)
            } read: { (row: inout Row) throws(IndexError) in
                try row.servedFile()
            }
        }
    }

    /// The files with a digest whose paths are in one of the ranges: from the first to before the last.
    func servedFiles(
        with sha256: Digest, in ranges: [(from: String, to: String?)]
    ) throws(MirrorError) -> [ServedFile] {
        try reading { (database: inout Database) throws(IndexError) in
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
            return files
        }
    }

    /// The next files under a folder in the order of their paths' bytes, at most so many.
    ///
    /// - Parameters:
    ///   - folder: the folder's path with the slash at its end; empty for all.
    ///   - start: where to begin; its own path, too, if `isIncluded`.
    func servedFiles(
        beneath folder: String, from start: String, isIncluded: Bool, most: Int64
    ) throws(MirrorError) -> [ServedFile] {
        // The byte behind the slash bounds what begins with the folder's path.
        let end = folder.isEmpty ? "" : " AND path < ?"
        let sign = isIncluded ? ">=" : ">"
        let sql = """
            SELECT \(Index.servedColumns) FROM files WHERE path \(sign) ?\(end) ORDER BY path LIMIT ?
            """
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
}

extension Row {
    fileprivate mutating func servedFile() throws(IndexError) -> ServedFile {
        let target = try target()
        return ServedFile(
            target: target, stamp: try stamp(), sha256: try digest(.sha256),
            mediaType: try optionalText())
    }
}
