internal import MirrorModel
internal import MirrorStore

/// Looks at the files of Caches that the index knows: how large, how long unused, whether unchanged.
///
/// A file was last used when a library said so, when it was read as far as the file system tells
/// (most note a day's first read only: `relatime`, mount(8)), or when it was promoted, whichever is
/// latest.
struct CacheScan {
    let root: RootDirectory
    let index: Index
    let leases: FileLeases

    /// The files that are there, in the order of their paths' bytes. Throws `MirrorError`.
    func files() throws -> CachedFileList {
        var files = CachedFileList()
        var scan = StatCursor(root)
        var cursor = try index.cursorOfUses(in: .caches)
        while try cursor.next() {
            guard let row = cursor.row else {
                // The whole record says what is wrong with it.
                let record = try cursor.wholeRecord()
                throw MirrorError(.inputOutput, "\(record.target): its row cannot be read.")
            }
            let target = try cursor.rowTarget()
            guard target.area == .caches else { break }
            guard let seen = try scan.lookAtUse(of: target) else { continue }
            var file = CachedFile(
                target: target, stamp: seen.stamp, lastUsed: max(seen.accessed, cursor.lastUse),
                state: .idle)
            if leases.isHeld(target) {
                file.state = .inUse
            } else if seen.stamp != row.stamp, !hasBytes(of: row, at: target, seen.stamp) {
                file.state = .changed
            }
            files.append(file)
        }
        return files
    }

    /// Whether a file that was touched or copied still has the bytes that mirror put there; one
    /// that cannot be read may have others.
    private func hasBytes(of row: RowProjection, at target: Target, _ stamp: FileStamp) -> Bool {
        guard stamp.size == row.stamp.size else { return false }
        let read = try? FileDigests.read(target, in: root)
        return read?.digests.first?.bytes.elementsEqual(row.sha256) == true
    }
}
