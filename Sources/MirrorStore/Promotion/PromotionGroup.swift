internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// What must be on the disk before a promotion goes on.
enum Awaited {
    /// The new bytes, and the intents.
    case bytes
    /// The names, and the folders above them.
    case names
    /// The rows.
    case rows
}

/// Works that are promoted together, and the steps that they take together.
///
/// A step never undoes what another one promised: where a name has changed already, a failure leaves the
/// intent, and the next run settles it. Those who take the steps know their order: `PromotionBatch` for
/// works of no set, `SetPromotion` and `CommittedSet` for a set.
struct PromotionGroup {
    let environment: PromotionEnvironment
    /// The time of its beginning.
    let now: Instant
    let works: [PromotionWork]
    /// The file system that one flush writes out for all works; nil when each file is flushed by itself.
    let groupDevice: UInt64?
    var folders: TouchedFolders
    /// Staged files by the position of their work.
    private(set) var staged: [StagedFile?]
    private(set) var checked = CheckedFiles()
    /// Errors by the position of their work.
    private(set) var failures: [Int: MirrorError] = [:]
    /// What failed after a name had changed: its intent stays, and the next run settles it.
    private(set) var unsettled: Set<Int> = []

    init(_ works: [PromotionWork], in environment: PromotionEnvironment) {
        self.environment = environment
        self.works = works
        now = environment.now()
        staged = Array(repeating: nil, count: works.count)
        folders = TouchedFolders(environment.root)
        groupDevice = environment.groupDevice(count: works.count)
    }

    /// What gives a file its final name.
    var placement: Placement {
        Placement(index: environment.index, now: now, probe: environment.probe)
    }

    /// Tells tests what was reached; throws where they pull the plug.
    func reached(_ step: PromotionStep) throws(PromotionFault) {
        if !environment.probe.goesOn(step) { throw .stopped }
    }

    /// Stages the bytes of a work.
    @discardableResult
    mutating func stage(
        _ landing: Landing, at: Int, by staging: inout Staging
    ) throws(MirrorError) -> StagedFile {
        let item = try staging.stage(landing, folders: &folders.cache)
        staged[at] = item
        return item
    }

    /// Looks at the file of a confirmation, and gives it its mode.
    mutating func check(_ confirmed: Confirmed, at: Int) throws(MirrorError) {
        let isByItself = try checked.check(
            confirmed, at: at, folders: &folders.cache, groupDevice: groupDevice)
        // Whoever wrote the file need not have flushed its name either.
        if isByItself { folders.touch(confirmed.target.folder) }
    }

    /// Notes that a work has failed, before anything of it was staged.
    mutating func fail(_ at: Int, _ error: MirrorError) { failures[at] = error }

    /// Writes the intents of a batch, durably; if that fails, no staged file is placed.
    mutating func intend() throws(PromotionFault) {
        guard hasStaged else { return }
        let items = staged.compactMap(\.self)
        do throws(IndexError) {
            try environment.index.write(durably: true) {
                (batch: inout Database) throws(IndexError) in
                try BatchRows.intend(items, in: &batch)
            }
        } catch {
            if case .unflushed(let error) = error { throw .unflushed(error) }
            for at in staged.indices where staged[at] != nil { abandon(at, error.mirrorError) }
            staged = Array(repeating: nil, count: staged.count)
        }
    }

    /// Removes a file that mirror put there; one that is gone already is no error.
    mutating func remove(_ removal: Removal) throws(MirrorError) {
        guard let entry = try removable(removal) else { return }
        do throws(Errno) { try entry.unlink() } catch {
            throw MirrorError(error, target: removal.target)
        }
        folders.touch(removal.target.folder)
    }

    /// The entry of a file that may be removed; nil where there is none. Throws where it is not the file
    /// that mirror put there.
    mutating func removable(_ removal: Removal) throws(MirrorError) -> DirectoryEntry? {
        let target = removal.target
        do throws(Errno) {
            let entry = try folders.cache.entry(target.path)
            guard let there = try entry.status() else { return nil }
            var isOurs = there.isFile
            if isOurs, removal.stamp != there.stamp {
                isOurs = try isAsRecorded(entry, target)
                // Reading it may have taken long: what is removed must still be what was read.
                if isOurs { isOurs = try entry.status()?.stamp == there.stamp }
            }
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
        let row = try? environment.index.read { (database: inout Database) throws(IndexError) in
            try FileRows.record(for: target, in: &database)
        }
        let file = try entry.open(O_RDONLY)
        let digests = try FileDigests.compute(file, algorithms: [.sha256], path: target.path)
        return row != nil && digests?.first == row?.sha256
    }

    /// Gives one file its final name. Throws `Errno`, `IndexError` or `PromotionFault`.
    mutating func place(_ item: StagedFile, _ placement: Placement) throws {
        item.placed = try placement.place(item, folders: &folders.cache)
        item.close()
        folders.touch(folderOf: item.landing.target.path)
        if item.kind == .move { folders.touch(folderOf: item.path) }
    }

    /// Abandons what could not be placed. Where a name has changed already, the staged name may hold
    /// what somebody else had put at the target, so nothing is removed.
    mutating func giveUp(_ at: Int, _ error: MirrorError) {
        guard let item = staged[at], !isUntouched(item) else { return abandon(at, error) }
        failures[at] = error
        item.close()
        unsettled.insert(at)
        folders.touch(item.landing.target.folder)
    }

    /// Whether the staged name still holds the staged file, and no file was set aside.
    private mutating func isUntouched(_ item: StagedFile) -> Bool {
        do {
            let source = try folders.cache.entry(item.path).status()
            guard source?.stamp.inode == item.stamp.inode else { return false }
            guard let aside = item.aside else { return true }
            return try folders.cache.entry(aside).status() == nil
        } catch { return false }
    }

    /// Abandons a file that has only its staged name.
    mutating func abandon(_ at: Int, _ error: MirrorError) {
        failures[at] = error
        guard let item = staged[at], item.isDisposable else { return }
        try? folders.cache.entry(item.path).unlink()
    }

    /// Removes superseded files, which are not needed any more, and folders that they leave empty.
    mutating func cleanUp() {
        for case let item? in staged {
            guard let placed = item.placed else { continue }
            // A leftover that cannot be removed is settled by the next run.
            if let path = placed.leftover { try? folders.cache.entry(path).unlink() }
            if case .part(let name, _) = item.landing.content {
                try? folders.cache.entry(TreePartStore.path(of: name)).unlink()
            }
        }
        for work in works {
            if case .remove(let removal) = work.task { folders.removeEmpty(above: removal.target) }
        }
        // Nothing is named any more, and others need descriptors.
        folders.cache.drop()
    }

    /// Writes the rows, and forgets the intents; durably where somebody is told what holds only while the
    /// rows do.
    ///
    /// - Parameter setRows: what the rows of a set need besides those of its files; nil for works of
    ///   no set.
    mutating func record(setRows: SetRows? = nil) throws(PromotionFault) {
        let group = self
        let vanished: [Int: Target]
        do throws(IndexError) {
            vanished = try environment.index.write(durably: rowsMustLast) {
                (batch: inout Database) throws(IndexError) in
                try BatchRows.forget(group.staged, except: group.unsettled, in: &batch)
                let vanished = try BatchRows.write(group, to: &batch)
                try setRows?.write(to: &batch, isSettled: group.unsettled.isEmpty)
                return vanished
            }
        } catch { throw PromotionFault(error) }
        for (at, target) in vanished {
            failures[at] = MirrorError(
                .sourceChanged, "\(target): it was removed while its source was asked. Run again.",
                target: target)
        }
    }

    /// Whether files wait for their names.
    var hasStaged: Bool { staged.contains { $0 != nil } }

    /// Whether one flush of the whole file system gives it some of this.
    func sharesFlush(_ awaited: Awaited) -> Bool {
        switch awaited {
        case .bytes: groupDevice != nil && (hasStaged || checked.hasOpened)
        case .names: groupDevice != nil && !folders.areUntouched
        case .rows: false
        }
    }

    /// Flushes what a flush of the whole file system did not.
    mutating func flushRest(_ awaited: Awaited, afterShared isShared: Bool) throws(Errno) {
        switch awaited {
        case .bytes: try flushBytes(afterShared: isShared)
        case .names: try folders.flush(besides: groupDevice)
        case .rows: break
        }
    }

    private var rowsMustLast: Bool {
        works.contains { work in
            if case .confirm(let confirmed) = work.task { !confirmed.isRepetition } else { true }
        }
    }

    /// Flushes what a group waits for that nothing else is flushed with.
    mutating func flush(_ awaited: Awaited) throws(PromotionFault) {
        do throws(Errno) {
            let made = awaited == .rows ? [] : environment.root.takeUnflushedFolders()
            let isShared = sharesFlush(awaited)
            if isShared { try environment.flush.flushGroup() }
            try environment.flush.flush(made, besideGroup: isShared)
            try flushRest(awaited, afterShared: isShared)
        } catch { throw .unflushed(error) }
    }

    private mutating func flushBytes(afterShared isShared: Bool) throws(Errno) {
        guard hasStaged || checked.hasOpened else { return }
        if !isShared, let error = environment.probe.flushError() { throw error }
        for case let item? in staged {
            // Not fdatasync: the mode and the times must last too.
            if item.needsFlush { try item.file?.flush(path: item.path) }
        }
        try checked.flush(beneath: environment.root)
    }
}
