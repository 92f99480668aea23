internal import CLinux
internal import CSQLite
internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// The files of the index in `.mirror/`: judged before they are opened, and moved aside when damaged.
struct IndexFile: Sendable {
    /// The database; its log and shared memory have `-wal` and `-shm` after it.
    static let name = "index.sqlite"

    /// A file beside the database, left by a run that found damage after it had opened the
    /// database.
    enum Mark: String, CaseIterable {
        /// It is to be moved aside.
        case damaged = "index.damaged"
        /// It is to be looked at, page by page and row by row.
        case doubted = "index.doubted"
    }

    /// `.mirror/`, open.
    let folder: Descriptor
    /// A path that leads to it through its descriptor; SQLite knows files by paths only.
    let folderPath: String
    /// The identity of the folder in this process, whatever path leads to it.
    let identity: String

    /// The path of the database.
    var path: String { folderPath + "/" + IndexFile.name }

    /// What the files are, judged without changing a byte of them.
    enum Verdict: Hashable {
        /// There is no database, or an empty one.
        case missing
        /// A database that this mirror can work with.
        case sound
        /// A database of a later schema.
        case newer(Int64)
        /// No database, or not one of mirror's.
        case damaged(String)
    }

    /// Takes an open `.mirror/`.
    init(folder: Descriptor, root: RootDirectory) {
        let status = try? folder.status(path: ".mirror")
        let identity = status.map { "\($0.device) \($0.stamp.inode)" }
        self.folder = identity.map { FolderFiles.shared(folder, $0) } ?? folder
        let path = FolderFiles.path(of: self.folder) ?? root.path + "/.mirror"
        folderPath = path
        self.identity = identity ?? path
    }

    /// The size of one of the files; nil when it is not there.
    func size(suffix: String = "") throws(Errno) -> Int64? {
        let name = IndexFile.name + suffix
        do throws(Errno) {
            let status = try FileStatus(folder: folder.number, name: name, path: ".mirror/" + name)
            guard let kind = status.kind else { return status.stamp.size }
            let number =
                switch kind {
                case .folder: EISDIR
                case .symbolicLink: ELOOP
                case .fifo, .socket, .device, .fileAsFolder: ENXIO
                }
            throw Errno(number: number, call: "statx", path: ".mirror/" + name)
        } catch {
            if error.number == ENOENT { return nil }
            throw error
        }
    }

    /// Judges the database: by its header where no log is left over, else by a private copy of both,
    /// because opening it would carry the log into the file. Damage is looked at twice, since the disk
    /// may have failed a read.
    ///
    /// It opens and closes the file, which drops this process's POSIX locks on it (fcntl(2)): never
    /// to be called while this process has it open in SQLite.
    func judge() throws(IndexError) -> Verdict {
        // SQLite opens the files beside the database by itself, and would wait for a pipe's writer.
        do throws(Errno) {
            for suffix in ["-journal", "-wal", "-shm"] { _ = try size(suffix: suffix) }
        } catch { throw IndexError.file(error) }
        // A mark whose database somebody removed is about nothing.
        if let verdict = verdictByMark {
            do throws(Errno) { if try size() == nil { return .missing } } catch {
                throw IndexError.file(error)
            }
            return verdict
        }
        let verdict = try judgeOnce()
        guard case .damaged = verdict else { return verdict }
        return try judgeOnce()
    }

    /// The damage that an earlier opening found for certain; nil where it found none. The database is not
    /// opened.
    var verdictByMark: Verdict? {
        has(.damaged) ? .damaged("as was found while it was in use") : nil
    }

    private func judgeOnce() throws(IndexError) -> Verdict {
        let copy: PrivateCopy
        let isDoubted = has(.doubted)
        let before = stamps
        do throws(Errno) {
            guard let size = try size(), size > 0 else { return .missing }
            let log = try self.size(suffix: "-wal") ?? 0
            guard log > 0 || isDoubted else { return try judgeHeader(fileSize: size) }
            copy = try PrivateCopy.make(from: folder, path: folderPath)
        } catch {
            throw IndexError.file(error)
        }
        let verdict = try judgeCopy(copy, thoroughly: isDoubted)
        // While another process writes, the copy has parts of two states. SQLite reads under its locks.
        if case .damaged = verdict, stamps != before { return .sound }
        return verdict
    }

    private var stamps: [FileStamp?] {
        ["", "-wal"].map { FileStatus.stamp(folder: folder.number, file: IndexFile.name + $0) }
    }

    /// Renames the database, its log and its shared memory together; gives the database's new name.
    func setAside(at now: Instant) throws(Errno) -> String {
        let stem = IndexFile.name + ".damaged-" + now.basicFormat
        var name = stem
        var attempt = 1
        // The database goes first: a log without a database is set aside by the next run too.
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
                    throw Errno(number: -result, call: "renameat2", path: ".mirror/" + name)
                }
                break
            }
        }
        removeMarks()
        try folder.flush(path: ".mirror")
        return name
    }

    /// Records a finding about the database, by which the next run judges it; false where that cannot be
    /// written.
    @discardableResult func put(_ mark: Mark) -> Bool {
        let flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC
        let number = linux_openat(folder.number, mark.rawValue, flags, 0o644)
        if number >= 0 { close(number) }
        return number >= 0
    }

    /// Forgets the finding: the database is sound, or is gone.
    func removeMarks() {
        for mark in Mark.allCases where has(mark) { unlinkat(folder.number, mark.rawValue, 0) }
    }

    private func has(_ mark: Mark) -> Bool {
        faccessat(folder.number, mark.rawValue, F_OK, AT_SYMLINK_NOFOLLOW) == 0
    }

    /// Reads the file's header ("Database File Format", §1.3): magic, page size, user version at 60,
    /// application id at 68, big-endian.
    private func judgeHeader(fileSize: Int64) throws(Errno) -> Verdict {
        let path = ".mirror/" + IndexFile.name
        let file = Descriptor(
            owning: try retrying("openat", path) {
                let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
                return linux_openat(folder.number, IndexFile.name, flags, 0)
            })
        let header = try file.bytes(at: 0, count: 100, path: path)
        guard header.count == 100, header.starts(with: Array("SQLite format 3".utf8) + [0]) else {
            return .damaged("file is not a database")
        }
        func number(at offset: Int) -> Int64 {
            header[offset..<offset + 4].reduce(0) { $0 << 8 | Int64($1) }
        }
        let isOnePage = fileSize <= 65536 && number(at: 28) <= 1
        return judge(
            version: number(at: 60), application: number(at: 68), isBare: isOnePage)
    }

    private func judgeCopy(
        _ copy: PrivateCopy, thoroughly: Bool
    ) throws(IndexError) -> Verdict {
        do throws(IndexError) {
            var database = try Database(
                copy.path, flags: SQLITE_OPEN_READWRITE, beneath: folder)
            let version = try database.number("PRAGMA user_version")
            let application = try database.number("PRAGMA application_id")
            let tables = try database.number("SELECT count(*) FROM sqlite_schema")
            let verdict = judge(version: version, application: application, isBare: tables == 0)
            guard verdict == .sound else { return verdict }
            if let tables = Schema.substitutes[version] { try database.run(tables) }
            if thoroughly {
                try IndexCheck.verifyAll(in: &database)
            } else {
                try IndexCheck.check("quick_check", in: &database)
            }
            return .sound
        } catch {
            if error.isUnreadable || error.isUnwritable { throw error }
            return .damaged(error.damage ?? error.mirrorError.message)
        }
    }

    private func judge(version: Int64, application: Int64, isBare: Bool) -> Verdict {
        // A crash while the index was first made leaves a database without tables.
        if version == 0, application == 0, isBare { return .missing }
        guard application == Schema.application else { return .damaged("not an index of mirror") }
        if version > Schema.version { return .newer(version) }
        let isKnown = version == Schema.version || Schema.migrations[version] != nil
        return isKnown ? .sound : .damaged("schema version \(version)")
    }
}
