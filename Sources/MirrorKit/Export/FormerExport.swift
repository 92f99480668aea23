internal import CLinux
internal import Glibc

/// The folder that an export finds in its place, and whether it may be replaced.
///
/// A folder is replaced only if no bytes get lost: if the tree has all its files, too. So a
/// folder of an earlier export is replaced, and a folder with any other file stays.
struct FormerExport {
    /// A file of the folder.
    struct File: Hashable {
        let stamp: FileStamp
        let sha256: Digest
        let isExecutable: Bool
    }

    /// The folder's path.
    let path: String
    /// The files that were read, by their paths in the folder.
    private(set) var files: [String: File] = [:]
    /// The files that the format makes, by their paths in the folder. They were not read.
    private(set) var made: [String: FileStamp] = [:]
    /// An entry that no export of this tree can have put there. No further entry was looked at.
    private(set) var foreign: String?

    /// Reads the folder. Returns nil if no folder is there.
    ///
    /// - Parameters:
    ///   - path: the folder's path.
    ///   - makes: the paths of the files that the format makes.
    ///   - sizes: the sizes that files of the tree have. Any other file is foreign, unread.
    ///   - isCancelled: whether the caller's task was cancelled.
    init?(
        at path: String, makes: Set<String>, sizes: Set<Int64>, isCancelled: () -> Bool
    ) throws {
        let number = linux_openat(
            AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
        guard number >= 0 else { return nil }
        self.path = path
        do {
            foreign = try FormerExport.walk(Descriptor(owning: number)) { entry, status in
                if makes.contains(entry.path) {
                    made[entry.path] = status.stamp
                    return true
                }
                guard sizes.contains(status.stamp.size) else { return false }
                let read = try FileDigests.compute(
                    try entry.open(O_RDONLY), algorithms: [.sha256], path: entry.path,
                    isCancelled: isCancelled)
                guard let sha256 = read?.first else {
                    throw MirrorError(wrapping: CancellationError())
                }
                files[entry.path] = File(
                    stamp: status.stamp, sha256: sha256, isExecutable: status.mode & 0o111 != 0)
                return true
            }
        } catch let error as Errno { throw MirrorError(error) }
    }

    /// Whether the folder of an entry still has exactly the files that were read.
    func isUnchanged(_ folder: DirectoryEntry) throws -> Bool {
        var stamps = made
        for (name, file) in files { stamps[name] = file.stamp }
        var seen = 0
        let other = try FormerExport.walk(try folder.open(O_RDONLY | O_DIRECTORY)) {
            entry, status in
            seen += 1
            return stamps[entry.path] == status.stamp
        }
        return other == nil && seen == stamps.count
    }

    /// The error for a folder that stays, because an entry of it would get lost.
    func refusal(because name: String) -> MirrorError {
        MirrorError(
            .usage,
            "\(path.printable): it is there already, and an export replaces only files that the tree has: \(name.printable) is none of them. Name a folder that is not there yet."
        )
    }

    /// Calls the body with each regular file below a folder; `path` is relative to it.
    ///
    /// Returns the first entry that is neither a file nor a folder, or for which the body returns
    /// false.
    private static func walk(
        _ folder: Descriptor, below path: String = "",
        _ body: (DirectoryEntry, FileStatus) throws -> Bool
    ) throws -> String? {
        guard let names = try folder.allNames(path: path) else {
            return path + "a name that is not UTF-8"
        }
        for name in names {
            let entry = DirectoryEntry(folder: folder, name: name, path: path + name)
            guard let status = try entry.status() else { continue }
            if status.kind == .folder {
                let inner = try entry.open(O_RDONLY | O_DIRECTORY)
                if let other = try walk(inner, below: entry.path + "/", body) { return other }
            } else if try !status.isFile || !body(entry, status) {
                return entry.path
            }
        }
        return nil
    }
}
