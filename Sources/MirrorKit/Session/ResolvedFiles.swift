internal import Glibc

/// The files that lost a conflict, kept for a week so that the choice can be changed.
///
/// A conflict copy lies in `.mirror/resolved/mine/`, a version of mirror's in
/// `.mirror/resolved/theirs/`. Both have the path of the conflict copy there. The index does not
/// record them, as it does not record conflict copies.
struct ResolvedFiles {
    private static let place = ".mirror/resolved"
    /// How long a file is kept after its conflict was ended, in seconds.
    static let lifetime: Int64 = 7 * 86400

    private let root: RootDirectory

    /// Makes a view of the files of a root.
    init(_ root: RootDirectory) { self.root = root }

    /// Returns the folder of the files of a side, with a slash at its end.
    static func folder(of side: ConflictSide) -> String { "\(place)/\(side.rawValue)/" }

    /// Returns the path at which a file is kept.
    static func path(of copy: Target, _ side: ConflictSide) -> String {
        folder(of: side) + copy.path
    }

    /// Moves a file that lost out of the tree. Returns the path at which it is kept now.
    ///
    /// The file is removed, and nil is returned, if the disk has no room for a folder, or if
    /// `.mirror` is on another file system.
    func keep(
        _ entry: DirectoryEntry, as copy: Target, _ side: ConflictSide
    ) throws(Errno) -> String? {
        let path = ResolvedFiles.path(of: copy, side)
        do throws(Errno) {
            let folder = try root.makeFolder(PathText.folder(of: path))
            try entry.replace(DirectoryEntry(folder: folder, path: path))
            try folder.flush(path: path)
            return path
        } catch {
            guard [EXDEV, ENOSPC, EDQUOT].contains(error.number) else { throw error }
            try entry.unlink()
            return nil
        }
    }

    /// Opens the name of a file that is kept.
    func entry(of copy: Target, _ side: ConflictSide) throws(Errno) -> DirectoryEntry {
        let path = ResolvedFiles.path(of: copy, side)
        return DirectoryEntry(folder: try root.openFolder(PathText.folder(of: path)), path: path)
    }

    /// Removes the files whose conflicts were ended longer ago than `lifetime`.
    ///
    /// The last rename of a file sets the time of its inode. What cannot be removed waits for a
    /// later run.
    func sweep(now: Instant) {
        let limit = now.advanced(bySeconds: -ResolvedFiles.lifetime)
        sweep(ResolvedFiles.place, keptSince: limit)
    }

    private func sweep(_ path: String, keptSince limit: Instant) {
        guard let folder = try? root.openFolder(path) else { return }
        for name in (try? folder.names(path: path)) ?? [] {
            let entry = DirectoryEntry(folder: folder, name: name, path: "\(path)/\(name)")
            guard let status = try? entry.status() else { continue }
            if status.kind == .folder {
                sweep(entry.path, keptSince: limit)
                // A folder that is not empty stays.
                try? root.removeFolder(entry.path)
            } else if Instant(milliseconds: status.stamp.changed / 1_000_000) < limit {
                try? entry.unlink()
            }
        }
    }
}
