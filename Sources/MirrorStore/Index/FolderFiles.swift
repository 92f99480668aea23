internal import CSQLite
internal import Glibc
internal import MirrorSystem
internal import Synchronization

/// Lets SQLite reach its files beneath a folder that is held open, not by the folder's name.
///
/// SQLite takes a path, and looks it up again for the database, the log, the shared memory and each
/// further connection. A process that swaps `.mirror` for a symbolic link between two of these
/// lookups would make SQLite write elsewhere. A path through the folder's descriptor always leads
/// to that folder, even when the folder's name leads elsewhere by then. One function of our own in
/// SQLite's usual file layer keeps such a path as it is instead of resolving it into names
/// (sqlite3_vfs, xFullPathname). The last component is never followed: that layer opens with
/// `O_NOFOLLOW`.
enum FolderFiles {
    private static let descriptors = "/proc/self/fd/"

    /// A path to an open folder; nil where there is no /proc.
    static func path(of folder: Descriptor) -> String? {
        let path = descriptors + String(folder.number)
        return access(path, F_OK) == 0 ? path : nil
    }

    private struct Weak: Sendable { weak var descriptor: Descriptor? }
    private static let open = Mutex<[String: Weak]>([:])

    /// The one descriptor that this process uses for a folder, as long as it is in use.
    ///
    /// The folder's identity selects it. SQLite's connections to a database share a lock file under
    /// the path of the first.
    static func shared(_ folder: Descriptor, _ identity: String) -> Descriptor {
        open.withLock { open in
            if let known = open[identity]?.descriptor { return known }
            open = open.filter { $0.value.descriptor != nil }
            open[identity] = Weak(descriptor: folder)
            return folder
        }
    }

    /// The name of the file layer for sqlite3_open_v2; nil stands for SQLite's own.
    static let vfs: String? = {
        guard let usual = sqlite3_vfs_find(nil) else { return nil }
        let own = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        own.initialize(to: usual.pointee)
        own.pointee.pNext = nil
        own.pointee.zName = UnsafePointer(strdup("mirror"))
        own.pointee.xFullPathname = fullPath
        return sqlite3_vfs_register(own, 0) == SQLITE_OK ? "mirror" : nil
    }()

    private static let fullPath:
        @convention(c) (
            UnsafeMutablePointer<sqlite3_vfs>?, UnsafePointer<CChar>?, Int32,
            UnsafeMutablePointer<CChar>?
        ) -> Int32 = { layer, name, room, out in
            guard let name, let out else { return SQLITE_CANTOPEN }
            guard strncmp(name, descriptors, descriptors.utf8.count) == 0 else {
                return sqlite3_vfs_find(nil)?.pointee.xFullPathname?(layer, name, room, out)
                    ?? SQLITE_CANTOPEN
            }
            guard strlen(name) < Int(room) else { return SQLITE_CANTOPEN }
            strcpy(out, name)
            return SQLITE_OK
        }
}
