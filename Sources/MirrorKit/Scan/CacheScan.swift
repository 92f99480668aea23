internal import MirrorModel
internal import MirrorStore

/// Lists the files of an area that the index knows, with size, last use and changes.
///
/// The last use is the latest of three times: a use that a library call noted, the last read as far
/// as the file system tells, and the promotion. Most file systems note only the first read of a day
/// (`relatime`, mount(8)).
struct CacheScan {
    private let root: RootDirectory
    private let index: Index
    private let leases: FileLeases
    private let meter: ActivityMeter?

    init(root: RootDirectory, index: Index, meter: ActivityMeter?) {
        (self.root, self.index, self.meter) = (root, index, meter)
        leases = .of(root)
    }

    /// The existing files of Caches, in the order of their paths' bytes. Throws `MirrorError`.
    func files() throws -> CachedFileList {
        var files = CachedFileList()
        try forEach(in: .caches) { file, _ in files.append(file) }
        return files
    }

    /// Passes on the existing files of an area with their rows, in the order of their paths' bytes.
    ///
    /// A row is valid only during the call. Throws `MirrorError`, and what the body throws.
    func forEach(
        in area: Area, _ body: (CachedFile, RowProjection) throws -> Void
    ) throws {
        meter?.begin(.looking)
        defer { meter?.end() }
        var scan = StatCursor(root)
        var cursor = try index.cursorOfUses(in: area)
        while try cursor.next() {
            guard let row = cursor.row else {
                // Reading the whole record throws an error that names the damage.
                let record = try cursor.wholeRecord()
                throw MirrorError(.inputOutput, "\(record.target): its row cannot be read.")
            }
            let target = try cursor.rowTarget()
            guard target.area == area else { break }
            meter?.add(files: 1)
            guard let seen = try scan.lookAtUse(of: target) else { continue }
            var file = CachedFile(
                target: target, stamp: seen.stamp, lastUsed: max(seen.accessed, cursor.lastUse),
                state: .idle)
            if leases.isHeld(target) {
                file.state = .inUse
            } else if seen.stamp != row.stamp, !hasBytes(of: row, at: target, seen.stamp) {
                file.state = .changed
            }
            try body(file, row)
        }
    }

    /// Whether a file that was touched or copied still has the bytes that mirror put there.
    ///
    /// A file that cannot be read may have other bytes.
    private func hasBytes(of row: RowProjection, at target: Target, _ stamp: FileStamp) -> Bool {
        guard stamp.size == row.stamp.size else { return false }
        let read = try? FileDigests.read(target, in: root)
        return read?.digests.first?.bytes.elementsEqual(row.sha256) == true
    }
}
