internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// One group of promotions, carried out in the one order that survives a power cut.
///
/// New bytes are written under names of mirror's own; the index records what is intended; bytes and
/// intents are flushed; files are renamed; folders are flushed; the index says so, and is flushed;
/// only then somebody is told. Many files share each flush, and so do the batches of a
/// `PromotionPipeline`.
struct PromotionBatch {
    let root: RootDirectory
    let index: Index
    let flush: DurableFlush
    let now: Instant
    let probe: PromotionProbe
    let unnamed: UnnamedFiles

    var folders: FolderCache
    let works: [PromotionWork]
    /// Staged files by the position of their work.
    var staged: [StagedFile?]
    /// The intents as the index has them; for a set, whose intents are rows, its files' rows only.
    var intents = PackedWriter()
    /// The number under which the index has the intents; nil before, and for a set, whose intents are rows.
    var intended: Int64?
    /// Files that were adopted and must be flushed by themselves.
    var adopted: [Descriptor] = []
    /// Whether there are adopted files, or files that were given another mode.
    private(set) var hasChecked = false
    /// Stamps of files that were given another mode, by the position of their work.
    var restamped: [Int: FileStamp] = [:]
    var failures: [Int: MirrorError] = [:]
    /// Works whose failure was told before the batch ended.
    private(set) var told: Set<Int> = []
    /// What failed after a name had changed: its intent stays, and the next run settles it.
    var unsettled: Set<Int> = []
    /// Folders whose entries changed.
    var touched: [[UInt8]: String] = [:]
    var lastTouched: String?
    /// What the rows of a set need besides those of its files; nil for works that stand alone.
    var setRows: SetRows?
    /// Whether a flush of the whole file system serves it.
    let isGroup: Bool
    /// What must be on the disk before its next step; nil when it has ended.
    private(set) var waitsFor: Awaited? = .bytes
    /// Whether that is on the disk.
    private(set) var isFlushed = false

    init(
        _ works: [PromotionWork], root: RootDirectory, index: Index, flush: DurableFlush,
        now: Instant, probe: PromotionProbe, unnamed: UnnamedFiles
    ) {
        self.root = root
        self.index = index
        self.flush = flush
        self.now = now
        self.probe = probe
        self.unnamed = unnamed
        self.works = works
        staged = Array(repeating: nil, count: works.count)
        folders = FolderCache(root)
        isGroup = flush.isGroup(count: works.count)
    }

    /// Writes the new bytes and records what is intended.
    mutating func begin() throws(PromotionFault) {
        stage()
        try reached(.staged)
        try intend()
        try reached(.intended)
    }

    /// Goes a step on, once what it waited for is on the disk; after the last one, each work has been
    /// told how it ended. Throws what ends every later batch too: then those of this batch that were
    /// not told have failed.
    mutating func goOn() throws(PromotionFault) {
        isFlushed = false
        switch waitsFor {
        case .bytes:
            try reached(.flushedBytes)
            try place()
            try reached(.placed)
            waitsFor = .names
        case .names:
            try reached(.flushedNames)
            cleanUp()
            try reached(.cleaned)
            try record()
            waitsFor = .rows
        case .rows:
            try reached(.indexed)
            tell()
            waitsFor = nil
        case nil: break
        }
    }

    /// Flushes what a flush of the whole file system did not; then it can go on.
    mutating func flushRest(afterShared isShared: Bool) throws(Errno) {
        if let waitsFor { try flushRest(waitsFor, afterShared: isShared) }
        isFlushed = true
    }

    /// Whether nothing else may be under way beside it: what it moves, or what it empties a folder of, may
    /// be where another batch has begun.
    var standsAlone: Bool {
        works.contains { work in
            switch work.task {
            case .land(let landing): if case .move = landing.content { true } else { false }
            case .landSet, .remove: true
            case .confirm: false
            }
        }
    }

    /// Works that do not know yet how they ended.
    var untold: [PromotionWork] {
        if waitsFor == nil { return [] }
        return works.enumerated().filter { !told.contains($0.offset) }.map(\.element)
    }

    func reached(_ step: PromotionStep) throws(PromotionFault) {
        if !probe.goesOn(step) { throw .stopped }
    }

    // In the order of submission: a copy is made before its source is removed. A failure is told at
    // once: when the disk is full, nothing more should be asked for meanwhile.
    private mutating func stage() {
        var staging = Staging(
            index: index, groupDevice: isGroup ? flush.device : nil, unnamed: unnamed)
        for at in works.indices {
            do throws(MirrorError) {
                switch works[at].task {
                case .land(let landing):
                    staged[at] = try staging.stage(landing, folders: &folders)
                case .confirm(let confirmed): try check(confirmed, at)
                case .remove(let removal): try remove(removal)
                case .landSet: break
                }
            } catch {
                failures[at] = error
                told.insert(at)
                works[at].receiver.promoted([works[at].failed(error)])
            }
        }
    }

    private mutating func check(_ confirmed: Confirmed, _ at: Int) throws(MirrorError) {
        guard confirmed.isAdoption || confirmed.mode != nil else { return }
        hasChecked = true
        let target = confirmed.target
        do throws(Errno) {
            let file = try folders.entry(target.path).open(O_RDONLY)
            let status = try file.status(path: target.path)
            guard status.isFile, status.stamp == confirmed.record.stamp else {
                throw Errno(number: ESTALE, call: "statx", path: target.path)
            }
            if let mode = confirmed.mode {
                try retryingLibc("fchmod", target.path) { fchmod(file.number, mode) }
                restamped[at] = try file.status(path: target.path).stamp
            }
            if !isGroup || status.device != flush.device { adopted.append(file) }
        } catch {
            if error.number == ESTALE {
                throw MirrorError(
                    .sourceChanged, "\(target): it changed after it was read. Run again.",
                    target: target)
            }
            throw MirrorError(error, target: target)
        }
    }

    /// Removes a file that mirror put there; one that is gone already is no error.
    mutating func remove(_ removal: Removal) throws(MirrorError) {
        guard let entry = try removable(removal) else { return }
        do throws(Errno) { try entry.unlink() } catch {
            throw MirrorError(error, target: removal.target)
        }
        touch(removal.target.folder)
    }

    /// The entry of a file that may be removed; nil where there is none. Throws where it is not the file
    /// that mirror put there.
    mutating func removable(_ removal: Removal) throws(MirrorError) -> DirectoryEntry? {
        let target = removal.target
        do throws(Errno) {
            let entry = try folders.entry(target.path)
            guard let there = try entry.status() else { return nil }
            var isOurs = there.isFile
            if isOurs, removal.stamp != there.stamp { isOurs = try isAsRecorded(entry, target) }
            if isOurs { return entry }
        } catch {
            if error.number == ENOENT { return nil }
            throw MirrorError(error, target: target)
        }
        throw MirrorError(
            .conflict, "\(target): it is no longer the file that mirror put there, so it was kept.",
            target: target)
    }

    /// Whether a file has the bytes that its row says, whatever its stamp is.
    private func isAsRecorded(_ entry: DirectoryEntry, _ target: Target) throws(Errno) -> Bool {
        let row = try? index.read { (database: inout Database) throws(IndexError) in
            try FileRows.record(for: target, in: &database)
        }
        let file = try entry.open(O_RDONLY)
        let digests = try FileDigests.compute(file, algorithms: [.sha256], path: target.path)
        return row != nil && digests?.first == row?.sha256
    }
}
