internal import CLinux
internal import CSQLite
internal import Glibc
internal import Synchronization

/// The files of an index, in `.mirror/` or in a shard's folder.
///
/// They are checked before SQLite opens them, and moved aside if they are damaged.
struct IndexFile: Sendable {
    /// The database's name. The names of its log and shared memory end in `-wal` and `-shm`.
    static let name = "index.sqlite"

    /// A file beside the database. A run that finds damage in the open database leaves this mark.
    enum Mark: String, CaseIterable {
        /// The next run must move the database aside.
        case damaged = "index.damaged"
        /// The next run must check the database, page by page and row by row.
        case doubted = "index.doubted"
    }

    /// The descriptor of the index's folder.
    let folder: Descriptor
    /// The path of the folder below the root.
    let place: String
    /// A path that leads to the folder through its descriptor. SQLite reaches files by paths only.
    let folderPath: String
    /// The folder's device and inode, so that all paths of the folder give the same text.
    private let identity: String
    let root: RootDirectory

    /// The path of the database.
    var path: String { folderPath + "/" + IndexFile.name }

    /// Makes the value for an open folder of a shard.
    init(folder: Descriptor, of shard: Shard, root: RootDirectory) {
        let place = shard.folder
        let status = try? folder.status(path: place)
        self.place = place
        let identity = status.map { "\($0.device) \($0.stamp.inode)" }
        self.folder = identity.map { IndexFile.shared(folder, $0) } ?? folder
        let descriptor = openDescriptors + String(self.folder.number)
        let path = access(descriptor, F_OK) == 0 ? descriptor : root.path + "/" + place
        folderPath = path
        self.root = root
        self.identity = identity ?? path
    }

    /// The size of the database or of a file beside it. Returns nil if the file does not exist.
    func size(suffix: String = "") throws(Errno) -> Int64? {
        let name = IndexFile.name + suffix
        do throws(Errno) {
            let status = try FileStatus(folder: folder.number, name: name, path: place + "/" + name)
            guard let kind = status.kind else { return status.stamp.size }
            let number =
                switch kind {
                case .folder: EISDIR
                case .symbolicLink: ELOOP
                case .fifo, .socket, .device, .fileAsFolder: ENXIO
                }
            throw Errno(number: number, call: "statx", path: place + "/" + name)
        } catch {
            if error.number == ENOENT { return nil }
            throw error
        }
    }

    /// Whether there is a database with tables. The call changes no byte of the files.
    ///
    /// Throws `damaged`, `former` or `newer` if this mirror cannot use the database. A database
    /// that this process has open is not checked: a second open and close of the file would drop
    /// the process's locks.
    func isThere() throws(IndexError) -> Bool {
        if !isOpen { return try judge() }
        try refuseMarked()
        return true
    }

    /// Checks the database, without opening the original in SQLite.
    ///
    /// The header is enough if no log is left over. Otherwise SQLite opens a private copy of both,
    /// because opening the original would carry the log into it. Apparent damage is checked twice,
    /// since the disk may have failed a read.
    ///
    /// The check opens and closes the file, which drops this process's POSIX locks on it
    /// (fcntl(2)). So it must not run while this process has the file open in SQLite.
    private func judge() throws(IndexError) -> Bool {
        // SQLite opens the files beside the database by itself, and would wait for a pipe's writer.
        // `size` rejects a pipe.
        let isThere = try filed { () throws(Errno) in
            for suffix in ["-journal", "-wal", "-shm"] { _ = try size(suffix: suffix) }
            return try size() != nil
        }
        // If the database was removed, its mark means nothing.
        if !isThere { return false }
        try refuseMarked()
        do throws(IndexError) { return try judgeOnce() } catch {
            guard case .damaged = error else { throw error }
            return try judgeOnce()
        }
    }

    /// Throws `damaged` if an earlier run marked the database. SQLite does not open the database
    /// here.
    private func refuseMarked() throws(IndexError) {
        if has(.damaged) { throw .damaged("as was found while it was in use") }
    }

    private func judgeOnce() throws(IndexError) -> Bool {
        let copy: PrivateCopy
        let isDoubted = has(.doubted)
        let before = stamps
        let (size, log) = try filed { () throws(Errno) in
            (try self.size() ?? 0, try self.size(suffix: "-wal") ?? 0)
        }
        if size == 0 { return false }
        guard log > 0 || isDoubted else { return try judgeHeader(fileSize: size) }
        copy = try filed { () throws(Errno) in
            try PrivateCopy.make(from: folder, path: folderPath)
        }
        do throws(IndexError) { return try judgeCopy(copy, thoroughly: isDoubted) } catch {
            // While another process writes, the copy can mix two states. The original may be sound,
            // because SQLite reads the original under its locks.
            if case .damaged = error, stamps != before { return true }
            throw error
        }
    }

    private var stamps: [FileStamp?] {
        ["", "-wal"].map { FileStatus.stamp(folder: folder.number, file: IndexFile.name + $0) }
    }

    /// Renames the database, its log and its shared memory together; returns the database's new
    /// name.
    ///
    /// - Parameter state: a word for the state of the database; it follows the name of the
    ///   database.
    func setAside(as state: String, at now: Instant) throws(Errno) -> String {
        let stem = "\(IndexFile.name).\(state)-\(now.basicFormat)"
        var name = stem
        var attempt = 1
        // The database is renamed first. If a crash leaves only the log, the next run sets the log
        // aside too.
        for suffix in ["", "-wal", "-shm"] {
            while true {
                let result = linux_renameat2(
                    folder.number, IndexFile.name + suffix, folder.number, name + suffix,
                    UInt32(LINUX_RENAME_NOREPLACE))
                if result == -EEXIST, suffix.isEmpty {
                    attempt += 1
                    name = "\(stem)-\(attempt)"
                    continue
                }
                if result < 0, result != -ENOENT {
                    throw Errno(number: -result, call: "renameat2", path: place + "/" + name)
                }
                break
            }
        }
        removeMarks()
        try folder.flush(path: place)
        return name
    }

    /// Creates a mark beside the database for the next run. Returns false if it cannot be created.
    @discardableResult func put(_ mark: Mark) -> Bool {
        let flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC
        let number = linux_openat(folder.number, mark.rawValue, flags, 0o644)
        if number >= 0 { close(number) }
        return number >= 0
    }

    /// Removes all marks, because the database is sound or gone.
    func removeMarks() {
        for mark in Mark.allCases where has(mark) { unlinkat(folder.number, mark.rawValue, 0) }
    }

    private func has(_ mark: Mark) -> Bool {
        faccessat(folder.number, mark.rawValue, F_OK, AT_SYMLINK_NOFOLLOW) == 0
    }

    /// Checks the database by the header of its file ("Database File Format", §1.3).
    ///
    /// The header has the magic at 0, the size in pages at 28, the user version at 60 and the
    /// application id at 68. All numbers are big-endian.
    private func judgeHeader(fileSize: Int64) throws(IndexError) -> Bool {
        let path = place + "/" + IndexFile.name
        let header = try filed { () throws(Errno) in
            let file = Descriptor(
                owning: try retrying("openat", path) {
                    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
                    return linux_openat(folder.number, IndexFile.name, flags, 0)
                })
            return try file.bytes(at: 0, count: 100, path: path)
        }
        guard header.count == 100, header.starts(with: Array("SQLite format 3".utf8) + [0]) else {
            throw .damaged("file is not a database")
        }
        func number(at offset: Int) -> Int64 {
            header[offset..<offset + 4].reduce(0) { $0 << 8 | Int64($1) }
        }
        let isOnePage = fileSize <= 65536 && number(at: 28) <= 1
        return try judge(
            version: number(at: 60), application: number(at: 68), isBare: isOnePage)
    }

    private func judgeCopy(_ copy: PrivateCopy, thoroughly: Bool) throws(IndexError) -> Bool {
        do throws(IndexError) {
            var database = try Database(
                copy.path, flags: SQLITE_OPEN_READWRITE, beneath: folder)
            let version = try database.number("PRAGMA user_version")
            let application = try database.number("PRAGMA application_id")
            let tables = try database.number("SELECT count(*) FROM sqlite_schema")
            let isThere = try judge(
                version: version, application: application, isBare: tables == 0)
            if !isThere { return false }
            if thoroughly {
                try database.verifyAll()
            } else {
                try database.runCheck("quick_check")
            }
            return true
        } catch {
            switch error {
            case .former, .newer: throw error
            case _ where error.isUnreadable || error.isUnwritable: throw error
            default: throw .damaged(error.damage ?? error.mirrorError(in: place).message)
            }
        }
    }

    private func judge(
        version: Int64, application: Int64, isBare: Bool
    ) throws(IndexError) -> Bool {
        // A crash while the index was first made leaves a database without tables.
        if version == 0, application == 0, isBare { return false }
        if application == Schema.formerApplication { throw .former }
        guard application == Schema.application else { throw .damaged("not an index of mirror") }
        if version > Schema.version { throw .newer(version: version) }
        if version < Schema.version { throw .damaged("schema version \(version)") }
        return true
    }
}

/// Runs a call of the file system; throws its `Errno` as an `IndexError`.
func filed<Value>(_ body: () throws(Errno) -> Value) throws(IndexError) -> Value {
    do throws(Errno) { return try body() } catch { throw .file(error) }
}

// MARK: What this process has open

extension IndexFile {
    private static let openCounts = Mutex<[String: Int]>([:])

    /// Whether this process has the database open in SQLite. Then no other code may open and close
    /// it.
    var isOpen: Bool { IndexFile.openCounts.withLock { $0[identity] != nil } }

    /// Counts one index that this process has opened.
    func noteOpened() { IndexFile.openCounts.withLock { $0[identity, default: 0] += 1 } }

    /// Counts one index that this process has closed.
    func noteClosed() {
        IndexFile.openCounts.withLock {
            let count = ($0[identity] ?? 0) - 1
            $0[identity] = count > 0 ? count : nil
        }
    }

    private static let folders = Mutex<[String: @Sendable () -> Descriptor?]>([:])

    /// Returns the one descriptor that this process uses for a folder while the folder is in use.
    ///
    /// The folder's device and inode select the descriptor. All connections must use the same path:
    /// SQLite's connections to a database share a lock file under the path of the first one.
    private static func shared(_ folder: Descriptor, _ identity: String) -> Descriptor {
        folders.withLock { folders in
            if let known = folders[identity]?() { return known }
            folders = folders.filter { $0.value() != nil }
            folders[identity] = { [weak folder] in folder }
            return folder
        }
    }
}

private let openDescriptors = "/proc/self/fd/"

/// Lets SQLite reach its files through the folder's open descriptor instead of the folder's name.
///
/// SQLite takes a path. It looks the path up again for the database, the log, the shared memory and
/// each further connection. A process that swaps `.mirror` for a symbolic link between two lookups
/// would make SQLite write elsewhere. A path through the folder's descriptor always leads to the
/// open folder, whatever has its name by then. `vfs` is SQLite's usual file layer with one function
/// replaced (sqlite3_vfs, xFullPathname). That function keeps a path through a descriptor as it is,
/// and does not resolve it into names. SQLite never follows the last component: its layer opens
/// files with `O_NOFOLLOW`.
extension Database {
    /// The name of the file layer for sqlite3_open_v2. `nil` stands for SQLite's default layer.
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
            guard strncmp(name, openDescriptors, openDescriptors.utf8.count) == 0 else {
                return sqlite3_vfs_find(nil)?.pointee.xFullPathname?(layer, name, room, out)
                    ?? SQLITE_CANTOPEN
            }
            guard strlen(name) < Int(room) else { return SQLITE_CANTOPEN }
            strcpy(out, name)
            return SQLITE_OK
        }
}

/// A copy of the index's file and write-ahead log in a folder of its own, removed with this value.
///
/// Opening the copy cannot disturb the original: SQLite writes to a database even to read it. The
/// folder is held with flock(2). A killed process leaves a folder without this lock.
final class PrivateCopy: Sendable {
    /// The path of the copied database.
    let path: String
    private let folder: String
    /// The folder of the original. `path` may lead through this descriptor, so the copy keeps it
    /// open.
    private let origin: Descriptor
    private let hold: Descriptor

    /// Copies `index.sqlite` and its log from the folder `origin`.
    ///
    /// The copy is made in `origin` if that folder can be written to; it may then share extents.
    /// Otherwise it is made in `$TMPDIR` or `/tmp`, or else in memory.
    static func make(
        from origin: Descriptor, path originPath: String
    ) throws(Errno) -> PrivateCopy {
        let temporary = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var failure = Errno(number: ENOENT, call: "mkdtemp", path: temporary)
        for place in [originPath, temporary, "/dev/shm"] {
            let made =
                place == originPath
                ? PrivateCopy.make(in: place) : PrivateCopy.makeTidily(in: place)
            guard let made else {
                failure = Errno(number: linux_errno(), call: "mkdtemp", path: place)
                continue
            }
            do throws(Errno) {
                return try PrivateCopy(from: origin, into: made)
            } catch {
                guard error.isNoSpace else { throw error }
                failure = error
            }
        }
        throw failure
    }

    private init(
        from origin: Descriptor, into made: (path: String, hold: Descriptor)
    ) throws(Errno) {
        folder = made.path
        hold = made.hold
        self.origin = origin
        path = made.path + "/" + IndexFile.name
        for suffix in ["", "-wal"] {
            let name = IndexFile.name + suffix
            do throws(Errno) {
                let source = Descriptor(
                    owning: try retrying("openat", name) {
                        linux_openat(
                            origin.number, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
                    })
                let copy = Descriptor(
                    owning: try retrying("open", folder) {
                        linux_openat(
                            AT_FDCWD, path + suffix, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
                    })
                try source.copy(to: copy, path: name)
            } catch {
                if suffix.isEmpty || error.number != ENOENT {
                    PrivateCopy.remove(folder: made.path)
                    throw error
                }
            }
        }
    }

    /// Removes the copies that killed processes left in a folder. Copies in use stay.
    static func removeLeftovers(in origin: Descriptor, path: String) {
        let names = (try? origin.names(path: path)) ?? []
        for name in names where name.utf8.starts(with: PrivateCopy.stem.utf8) {
            let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
            let number = linux_openat(origin.number, name, flags, 0)
            guard number >= 0 else { continue }
            let folder = Descriptor(owning: number)
            var status = stat()
            guard fstat(number, &status) == 0, status.st_uid == geteuid() else { continue }
            guard linux_flock(folder.number, LOCK_EX | LOCK_NB) == 0 else { continue }
            for suffix in ["", "-wal", "-shm"] {
                unlinkat(folder.number, IndexFile.name + suffix, 0)
            }
            unlinkat(origin.number, name, AT_REMOVEDIR)
        }
    }

    private static let stem = ".index-copy-"

    /// Makes a folder in a place where no run removes leftovers; removes earlier leftovers first.
    private static func makeTidily(in place: String) -> (path: String, hold: Descriptor)? {
        let number = linux_openat(AT_FDCWD, place, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        if number >= 0 { removeLeftovers(in: Descriptor(owning: number), path: place) }
        return make(in: place)
    }

    /// Makes a folder and locks it. Returns nil if no folder can be made.
    private static func make(in place: String) -> (path: String, hold: Descriptor)? {
        // Another process may remove the new folder as a leftover before this process locks it.
        for _ in 1...16 {
            var template = Array("\(place)/\(stem)XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else { return nil }
            let path = String(
                decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
            let number = linux_openat(AT_FDCWD, path, flags, 0)
            guard number >= 0 else { continue }
            let hold = Descriptor(owning: number)
            if linux_flock(hold.number, LOCK_EX | LOCK_NB) == -EWOULDBLOCK { continue }
            if (try? hold.status(path: path))?.links ?? 0 > 0 { return (path, hold) }
        }
        return nil
    }

    deinit { remove() }

    /// Removes the files. No code may read the copy afterwards.
    func remove() { PrivateCopy.remove(folder: folder) }

    private static func remove(folder: String) {
        for suffix in ["", "-wal", "-shm"] { unlink(folder + "/" + IndexFile.name + suffix) }
        rmdir(folder)
    }
}
