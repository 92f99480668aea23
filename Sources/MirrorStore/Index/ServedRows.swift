internal import MirrorModel

/// Rows as a server of the tree asks for them.
enum ServedRows {
    private static let columns = "path, size, modified, changed, inode, sha256, details"

    /// The row of a path.
    static func file(
        at path: String, in database: inout Database
    ) throws(IndexError) -> ServedFile? {
        try database.first("SELECT \(columns) FROM files WHERE path = ?") {
            $0.add(path)
        } read: { (row: inout Row) throws(IndexError) in
            try row.servedFile()
        }
    }

    /// The versions that a promotion under way, or one that was interrupted, gives a path.
    static func intendedFiles(
        at path: String, in database: inout Database
    ) throws(IndexError) -> [ServedFile] {
        try database.all("SELECT \(columns) FROM intents WHERE path = ?") {
            $0.add(path)
        } read: { (row: inout Row) throws(IndexError) in
            try row.servedFile()
        }
    }

    /// The rows with a digest whose paths are in a range, at most so many: from the first to before
    /// the last.
    static func files(
        with sha256: Digest, from first: String, to last: String?, most: Int,
        in database: inout Database
    ) throws(IndexError) -> [ServedFile] {
        let end = last == nil ? "" : " AND path < ?"
        return try database.all(
            "SELECT \(columns) FROM files WHERE path >= ?\(end) AND +sha256 = ? LIMIT ?"
        ) {
            $0.add(first)
            if let last { $0.add(last) }
            $0.add(sha256.bytes)
            $0.add(Int64(most))
        } read: { (row: inout Row) throws(IndexError) in
            try row.servedFile()
        }
    }

    /// The next files beneath a folder in the order of their paths' bytes, at most so many.
    ///
    /// - Parameters:
    ///   - folder: the folder's path with the slash at its end; empty for all.
    ///   - start: where to begin; its own path, too, if `isIncluded`.
    static func files(
        beneath folder: String, from start: String, isIncluded: Bool, most: Int64,
        in database: inout Database
    ) throws(IndexError) -> [ServedFile] {
        // The byte behind the slash bounds what begins with the folder's path.
        let end = folder.isEmpty ? "" : " AND path < ?"
        let sign = isIncluded ? ">=" : ">"
        return try database.all(
            "SELECT \(columns) FROM files WHERE path \(sign) ?\(end) ORDER BY path LIMIT ?"
        ) {
            $0.add(start)
            if !folder.isEmpty { $0.add(folder.prefix(bytes: folder.utf8.count - 1) + "0") }
            $0.add(most)
        } read: { (row: inout Row) throws(IndexError) in
            try row.servedFile()
        }
    }
}

extension Row {
    fileprivate mutating func servedFile() throws(IndexError) -> ServedFile {
        let target = try target()
        let stamp = FileStamp(
            size: try int(), modified: try int(), changed: try int(),
            inode: UInt64(bitPattern: try int()))
        let sha256 = try digest(.sha256)
        return ServedFile(
            target: target, stamp: stamp, sha256: sha256,
            mediaType: try details().mediaType)
    }
}
