internal import MirrorModel

/// Looks at the files of Caches that the index knows: how large, how long unused, whether unchanged.
///
/// A file was last used when a library said so, when it was read as far as the file system tells
/// (most note a day's first read only: `relatime`, mount(8)), or when it was promoted, whichever is
/// latest.
struct CacheSurvey {
    let root: RootDirectory
    let index: Index
    let leases: FileLeases

    /// The files that are there, in the order of their paths' bytes. Throws `MirrorError`.
    func files() throws -> [CachedFile] {
        var files: [CachedFile] = []
        var scan = TreeScan(root)
        var cursor = try index.cursor()
        while let record = try cursor.nextRecord() {
            guard record.target.area == .caches,
                let seen = try scan.lookAtUse(of: record.target)
            else { continue }
            let used = [seen.accessed, try index.lastUse(of: record.target), record.promotedAt]
            var file = CachedFile(
                target: record.target, stamp: seen.stamp,
                lastUsed: used.compactMap(\.self).max() ?? record.promotedAt, standing: .idle)
            if leases.isHeld(record.target) {
                file.standing = .inUse
            } else if seen.stamp != record.stamp, !hasBytes(of: record, seen.stamp) {
                file.standing = .changed
            }
            files.append(file)
        }
        return files
    }

    /// Whether a file that was touched or copied still has the bytes that mirror put there; one
    /// that cannot be read may have others.
    private func hasBytes(of record: IndexRecord, _ stamp: FileStamp) -> Bool {
        guard stamp.size == record.stamp.size else { return false }
        let read = try? FileDigests.read(record.target, in: root)
        return read?.digests.first == record.sha256
    }
}
