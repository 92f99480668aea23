internal import CLinux
internal import Glibc
internal import Synchronization

/// Makes a promotion's file ready, so that one rename or link gives it the target's name.
struct Staging {
    let index: Index
    /// The file system that a group flush writes out. `nil` means that each file is flushed by
    /// itself.
    let groupDevice: UInt64?
    let unnamed: UnnamedFiles
    /// Whether files are made without a name if possible. Such a file stays open until it has a
    /// name.
    var makesUnnamed = true
    /// The folder `tmp/`. `nil` until the first use.
    private var tmp: FolderCache.Folder?
    /// A buffer into which written bytes are read back.
    private var readBack: [UInt8] = []

    init(index: Index, groupDevice: UInt64?, unnamed: UnnamedFiles) {
        self.index = index
        self.groupDevice = groupDevice
        self.unnamed = unnamed
    }

    /// Creates, copies or checks the staged file, and gives it its mode and modification time.
    mutating func stage(
        _ promotion: Promotion, folders: inout FolderCache
    ) throws(MirrorError) -> StagedFile {
        do throws(Errno) {
            let home = try folders.makeFolder(of: promotion.target.path)
            let tmp = try tmpFolder(&folders)
            let isNear = home.device == tmp.device
            switch promotion.content {
            case .memory(let bytes):
                if isNear, makesUnnamed,
                    let file = unnamed.make(
                        in: home.descriptor, tmp: tmp.descriptor,
                        trial: PartRecord.passingName(for: promotion.target, tag: folders.tag))
                {
                    let path = TreePartStore.passingPath(
                        for: promotion.target, tag: folders.tag)
                    try file.writeConfirmed(bytes, path: path, with: &readBack)
                    return try finish(
                        promotion, path: path, file: file, isDisposable: true, isUnnamed: true)
                }
                let (path, file) = try create(promotion, folders: &folders, isNear: isNear)
                return try made(promotion, path: path, file: file, folders: &folders) {
                    (path, file) throws(Errno) in
                    try file.writeConfirmed(bytes, path: path)
                }
            case .part(let name, let stamp):
                let path = TreePartStore.path(of: name)
                let part = try openPart(
                    path, verifiedAs: stamp, promotion: promotion, folders: &folders)
                if isNear {
                    return try finish(promotion, path: path, file: part, isDisposable: false)
                }
                return try copy(part, for: promotion, folders: &folders, isNear: false)
            case .copy(let source):
                let original = try found(source.path) { () throws(Errno) in
                    try folders.entry(source.path).open(O_RDONLY)
                }
                return try copy(original, for: promotion, folders: &folders, isNear: isNear)
            case .copyOfPart(let name, let stamp):
                let path = TreePartStore.path(of: name)
                // If the part is gone, it was promoted or dropped. The run then fetches the bytes
                // for this target.
                let part = try found(path) { () throws(Errno) in
                    try openPart(path, verifiedAs: stamp, promotion: promotion, folders: &folders)
                }
                return try copy(part, for: promotion, folders: &folders, isNear: isNear)
            case .move(let source):
                return try stageMove(of: source, promotion, home: home, folders: &folders)
            }
        } catch {
            if error.number == EREMCHG { throw .changed(error.path, for: promotion.target) }
            throw MirrorError(error, target: promotion.target)
        }
    }

    private mutating func tmpFolder(
        _ folders: inout FolderCache
    ) throws(Errno) -> FolderCache.Folder {
        if let tmp { return tmp }
        let folder = try folders.make(Area.tmp.rawValue)
        tmp = folder
        return folder
    }

    /// Opens a part by its name. Throws `EREMCHG` if the part does not hold the verified bytes.
    /// The transfer verified the file that it held open. If the name leads to another file now, or
    /// if the file was written to since, this method hashes it again.
    private func openPart(
        _ path: String, verifiedAs stamp: FileStamp, promotion: Promotion,
        folders: inout FolderCache
    ) throws(Errno) -> Descriptor {
        let part = try folders.entry(path).open(O_RDWR)
        let status = try part.status(path: path)
        guard status.isFile, status.links == 1, status.stamp.size == promotion.record.stamp.size
        else { throw changed(path) }
        if status.stamp != stamp {
            let digests = try FileDigests.compute(part, algorithms: [.sha256], path: path)
            guard digests?.first == promotion.record.sha256 else { throw changed(path) }
        }
        return part
    }

    private func copy(
        _ source: Descriptor, for promotion: Promotion, folders: inout FolderCache, isNear: Bool
    ) throws(Errno) -> StagedFile {
        let (path, file) = try create(promotion, folders: &folders, isNear: isNear)
        return try made(promotion, path: path, file: file, folders: &folders) {
            (path, file) throws(Errno) in
            try source.copy(to: file, path: path)
            let digests = try FileDigests.compute(file, algorithms: [.sha256], path: path)
            guard digests?.first == promotion.record.sha256 else { throw changed(path) }
        }
    }

    /// Fills a file that was just made. Removes the file if that fails.
    private func made(
        _ promotion: Promotion, path: String, file: Descriptor, folders: inout FolderCache,
        fill: (String, Descriptor) throws(Errno) -> Void
    ) throws(Errno) -> StagedFile {
        do throws(Errno) {
            try fill(path, file)
            return try finish(promotion, path: path, file: file, isDisposable: true)
        } catch {
            try? folders.entry(path).unlink()
            throw error
        }
    }

    private func stageMove(
        of source: Target, _ promotion: Promotion, home: FolderCache.Folder,
        folders: inout FolderCache
    ) throws(Errno) -> StagedFile {
        let file = try found(source.path) { () throws(Errno) in
            try folders.entry(source.path).open(O_RDONLY)
        }
        let status = try file.status(path: source.path)
        guard status.isFile else { throw changed(source.path) }
        let known = try? index.read { (database: inout Database) throws(IndexError) in
            try database.record(for: source)
        }
        if known?.stamp != status.stamp || known?.sha256 != promotion.record.sha256 {
            let digests = try FileDigests.compute(file, algorithms: [.sha256], path: source.path)
            guard digests?.first == promotion.record.sha256 else { throw changed(source.path) }
        }
        // A file cannot be moved across file systems, so it is copied. The orphan stays for the
        // next prune.
        guard status.device == home.device else {
            return try copy(file, for: promotion, folders: &folders, isNear: false)
        }
        let mode: UInt16 = promotion.isExecutable ? 0o755 : 0o644
        if status.mode != mode {
            try retryingLibc("fchmod", source.path) { fchmod(file.number, mode_t(mode)) }
        }
        return StagedFile(
            promotion: promotion, kind: .move, path: source.path, stamp: status.stamp,
            file: groupDevice == status.device ? nil : file,
            needsFlush: groupDevice != status.device)
    }

    /// Makes an empty file in `tmp/`, or beside the target if `tmp/` is on another file system.
    private func create(
        _ promotion: Promotion, folders: inout FolderCache, isNear: Bool
    ) throws(Errno) -> (path: String, file: Descriptor) {
        // A recovery finds a leftover in `tmp/` by its name. A hidden file could be anywhere, so
        // the index notes its path.
        let path =
            isNear
            ? TreePartStore.passingPath(
                for: promotion.target, tag: folders.tag)
            : promotion.target.freshHiddenPath()
        if !isNear { try note(hidden: path) }
        return (path, try folders.entry(path).open(O_RDWR | O_CREAT | O_EXCL, mode: 0o644))
    }

    private func note(hidden path: String) throws(Errno) {
        do throws(IndexError) {
            try index.write { (batch: inout Database) throws(IndexError) in
                try batch.noteHiddenFile(path)
            }
        } catch {
            if case .unflushed(let error) = error { throw error }
            let isFull = error.mirrorError(in: index.place).code == .noSpace
            throw Errno(number: isFull ? ENOSPC : EIO, call: "sqlite", path: path)
        }
    }

    private func finish(
        _ promotion: Promotion, path: String, file: Descriptor, isDisposable: Bool,
        isUnnamed: Bool = false
    ) throws(Errno) -> StagedFile {
        try retrying("futimens", path) { linux_set_modified(file.number, promotion.modified) }
        let mode: UInt16 = promotion.isExecutable ? 0o755 : 0o644
        var status = try file.status(path: path)
        // Most files have this mode already since they were made.
        if status.mode != mode {
            try retryingLibc("fchmod", path) { fchmod(file.number, mode_t(mode)) }
            status = try file.status(path: path)
        }
        // Only in Documents is a replaced file set aside.
        let isKept = promotion.target.area == .documents
        let needsFlush = groupDevice != status.device
        return StagedFile(
            promotion: promotion, path: path,
            aside: isKept ? promotion.target.freshHiddenPath() : nil, stamp: status.stamp,
            file: needsFlush || isUnnamed ? file : nil, needsFlush: needsFlush,
            isUnnamed: isUnnamed, isDisposable: isDisposable)
    }

    /// Opens a file whose bytes are to be copied or moved.
    /// Throws `EREMCHG` if there is no such file any more.
    private func found(
        _ path: String, _ open: () throws(Errno) -> Descriptor
    ) throws(Errno) -> Descriptor {
        do throws(Errno) { return try open() } catch {
            let isGone = [ENOENT, ENOTDIR, ELOOP, EISDIR, ENXIO].contains(error.number)
            throw isGone ? changed(path) : error
        }
    }

    /// Returns the error for bytes that are no longer the verified ones.
    private func changed(_ path: String) -> Errno {
        Errno(number: EREMCHG, call: "statx", path: path)
    }
}

/// A new file on the target's file system, complete and verified.
/// The file has a name of mirror's own, or no name yet.
final class StagedFile {
    /// The promotion that gets this file.
    let promotion: Promotion
    /// The kind of promotion, which the intent records.
    let kind: PromotionIntent.Kind
    /// The path of the bytes before the promotion, relative to the root.
    let path: String
    /// The path for the target's old file if names cannot be exchanged, relative to the root.
    /// `nil` means that no old file is set aside.
    let aside: String?
    /// The stamp of the file when it was staged.
    let stamp: FileStamp
    /// The open file, if it must be flushed by itself or has no name. Otherwise nil.
    private(set) var file: Descriptor?
    /// Whether the file is flushed by itself.
    let needsFlush: Bool
    /// Whether the file has no name yet. It gets the name `path` only if it needs one.
    let isUnnamed: Bool
    /// Whether only this promotion knows the file, so that it is removed when the promotion fails.
    let isDisposable: Bool
    /// The intent's number in the index; 0 until the intent is written.
    var number: Int64 = 0
    /// How the target got the bytes. `nil` means that it has not got them yet.
    var placed: Placed?

    init(
        promotion: Promotion, kind: PromotionIntent.Kind = .promotion, path: String,
        aside: String? = nil,
        stamp: FileStamp, file: Descriptor? = nil, needsFlush: Bool = false,
        isUnnamed: Bool = false, isDisposable: Bool = false
    ) {
        self.promotion = promotion
        self.kind = kind
        self.path = path
        self.aside = aside
        self.stamp = stamp
        self.file = file
        self.needsFlush = needsFlush
        self.isUnnamed = isUnnamed
        self.isDisposable = isDisposable
    }

    /// Whether a file at the target may be dropped even if mirror did not put it there.
    var replaces: Bool { kind == .promotion && promotion.onConflict == .replace }

    /// Returns the stamp to record, from the current stamp of the target's file.
    ///
    /// A rename or a link changes a file's ctime, so the current stamp is recorded. If the file was
    /// changed since it was verified, the old stamp is recorded, so that the next run sees the
    /// change.
    func recordedStamp(of now: FileStamp) -> FileStamp {
        now.isSameVersion(as: stamp) ? now : stamp
    }

    /// The intent that the index records before the rename.
    var intent: PromotionIntent {
        PromotionIntent(
            kind: kind, staged: path, aside: aside, stagedInode: stamp.inode, replaces: replaces,
            record: promotion.record(stamp: stamp))
    }

    /// Flushes a file that must be flushed by itself, and closes it unless it has no name.
    /// A set can be larger than the number of files that may be open.
    func flushNow() throws(Errno) {
        if needsFlush { try file?.flush(path: path) }
        if !isUnnamed { close() }
    }

    /// Closes the file after it has got its final name.
    func close() { file = nil }
}

/// Files that have no name until they get their final one (`O_TMPFILE` of open(2)).
///
/// Such a file costs one entry in one folder, where a file in `tmp/` costs two entries and a
/// rename. A killed process leaves no trace of such a file. Linking never replaces, so a file is
/// made this way only for a target without an existing file. For any other use the file first gets
/// its name in `tmp/`.
final class UnnamedFiles: Sendable {
    /// Whether the root's file system supports files without a name. `nil` means not tried yet.
    private let isSupported: Mutex<Bool?>

    init(isAllowed: Bool) { isSupported = Mutex(isAllowed ? nil : false) }

    /// Makes a file on a folder's file system, mode 0644. Returns nil if that is not supported.
    ///
    /// Also returns nil if such a file could not get a name later. `tmp` is on the same file
    /// system, and `trial` is a free name in it.
    func make(
        in folder: Descriptor, tmp: Descriptor, trial: @autoclosure () -> String
    ) -> Descriptor? {
        let isSupported = isSupported.withLock { known in
            let answer = known ?? UnnamedFiles.canBeNamed(in: tmp, trial())
            known = answer
            return answer
        }
        return isSupported ? UnnamedFiles.open(in: folder) : nil
    }

    private static func open(in folder: Descriptor) -> Descriptor? {
        // The cause of a failure is not examined: a file with a name will fail too, and report it.
        let number = linux_open_unnamed(folder.number, 0o644)
        return number < 0 ? nil : Descriptor(owning: number)
    }

    private static func canBeNamed(in tmp: Descriptor, _ trial: String) -> Bool {
        guard let file = open(in: tmp), linux_link_open(file.number, tmp.number, trial) == 0 else {
            return false
        }
        return unlinkat(tmp.number, trial, 0) == 0
    }
}
