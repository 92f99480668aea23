package import MirrorModel

/// The index as a server of the tree asks it.
extension Index {
    /// What the index knows of a target's file.
    package func servedFile(at target: Target) throws(MirrorError) -> ServedFile? {
        try asked { (database: inout Database) throws(IndexError) in
            try ServedRows.file(at: target.path, in: &database)
        }
    }

    /// The versions that a promotion is about to put at a target, or has put there without saying so yet.
    package func intendedFiles(at target: Target) throws(MirrorError) -> [ServedFile] {
        try asked { (database: inout Database) throws(IndexError) in
            try ServedRows.intendedFiles(at: target.path, in: &database)
        }
    }

    /// Of so many files with the same bytes one is expected to be as it was put there. A tree may have
    /// a hundred thousand empty files.
    private static let mostCopies = 64

    /// The files with a digest whose paths are in one of the ranges.
    package func servedFiles(
        with sha256: Digest, in ranges: [(from: String, to: String?)]
    ) throws(MirrorError) -> [ServedFile] {
        try asked { (database: inout Database) throws(IndexError) in
            var files: [ServedFile] = []
            for range in ranges where files.count < Index.mostCopies {
                files += try ServedRows.files(
                    with: sha256, from: range.from, to: range.to,
                    most: Index.mostCopies - files.count, in: &database)
            }
            return files
        }
    }

    /// The next files beneath a folder; see `ServedRows.files`.
    package func servedFiles(
        beneath folder: String, from start: String, isIncluded: Bool, most: Int64
    ) throws(MirrorError) -> [ServedFile] {
        try asked { (database: inout Database) throws(IndexError) in
            try ServedRows.files(
                beneath: folder, from: start, isIncluded: isIncluded, most: most, in: &database)
        }
    }

    /// A number that changes whenever another process has written to the index.
    package func changeCount() throws(MirrorError) -> Int64 {
        try asked { (database: inout Database) throws(IndexError) in try database.changeCount() }
    }

    private func asked<Value: Sendable>(
        _ body: (inout Database) throws(IndexError) -> Value
    ) throws(MirrorError) -> Value {
        try indexed { () throws(IndexError) in try read(body) }
    }
}
