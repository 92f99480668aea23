internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// What must be on the disk before a promotion goes on.
enum Awaited {
    /// The new bytes.
    case bytes
    /// The names, and the folders above them.
    case names
}

/// Works that are promoted together, in the one order that survives a power cut.
///
/// New bytes are written under names of mirror's own; the index records what is intended, durably; bytes
/// are flushed; files are renamed; folders are flushed; the index records the rows, durably; only then the
/// receivers are told. Many files share each flush.
///
/// No step undoes what another one promised. Where a name has changed already, a failure leaves the
/// intent, and the next run settles it. `SetPromotion` takes the same steps for a set.
struct PromotionBatch {
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
    /// Works whose failure was told before the batch ended.
    private var told: Set<Int> = []

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
    func reached(_ step: PromotionStep) throws(PromotionError) {
        if !environment.probe.goesOn(step) { throw .stopped }
    }

    /// Stages the bytes of a work.
    @discardableResult
    mutating func stage(
        _ promotion: Promotion, at: Int, by staging: inout Staging
    ) throws(MirrorError) -> StagedFile {
        let item = try staging.stage(promotion, folders: &folders.cache)
        staged[at] = item
        return item
    }

    /// Looks at the file of a confirmation, and gives it its mode.
    mutating func check(_ confirmed: Confirmed, at: Int) throws(MirrorError) {
        let isByItself = try checked.check(
            confirmed, at: at, folders: &folders.cache, groupDevice: groupDevice)
        // The program that wrote the file need not have flushed its name either.
        if isByItself { folders.touch(confirmed.target.folder) }
    }

    /// Writes the intents of a batch, durably; if that fails, no staged file is placed.
    mutating func intend() throws(PromotionError) {
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
            try database.record(for: target)
        }
        let file = try entry.open(O_RDONLY)
        let digests = try FileDigests.compute(file, algorithms: [.sha256], path: target.path)
        return row != nil && digests?.first == row?.sha256
    }

    /// Gives one file its final name. Throws `Errno`, `IndexError` or `PromotionError`.
    mutating func place(_ item: StagedFile, _ placement: Placement) throws {
        item.placed = try placement.place(item, folders: &folders.cache)
        item.close()
        folders.touch(folderOf: item.promotion.target.path)
        if item.kind == .move { folders.touch(folderOf: item.path) }
    }

    /// Abandons what could not be placed. Where a name has changed already, the staged name may hold
    /// what another program had put at the target, so nothing is removed.
    mutating func giveUp(_ at: Int, _ error: MirrorError) {
        guard let item = staged[at], !isUntouched(item) else { return abandon(at, error) }
        failures[at] = error
        item.close()
        unsettled.insert(at)
        folders.touch(item.promotion.target.folder)
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
            if case .part(let name, _) = item.promotion.content {
                try? folders.cache.entry(TreePartStore.path(of: name)).unlink()
            }
        }
        for work in works {
            if case .remove(let removal) = work.task { folders.removeEmpty(above: removal.target) }
        }
        // Nothing is named any more, and others need descriptors.
        folders.cache.drop()
    }

    /// Writes the rows, and forgets the intents; durably where a receiver is told what holds only while
    /// the rows last.
    ///
    /// - Parameter setRows: what the rows of a set need besides those of its files; nil for works of
    ///   no set.
    mutating func record(setRows: SetRows? = nil) throws(PromotionError) {
        let group = self
        // A set that only removes orphans has no works.
        let areRepetitions =
            setRows == nil
            && works.allSatisfy { work in
                if case .confirm(let confirmed) = work.task {
                    confirmed.isRepetition
                } else {
                    false
                }
            }
        let vanished: [Int: Target]
        do throws(IndexError) {
            vanished = try environment.index.write(durably: !areRepetitions) {
                (batch: inout Database) throws(IndexError) in
                try BatchRows.forget(group.staged, except: group.unsettled, in: &batch)
                let vanished = try BatchRows.write(group, to: &batch)
                try setRows?.write(to: &batch, isSettled: group.unsettled.isEmpty)
                return vanished
            }
        } catch { throw PromotionError(error) }
        for (at, target) in vanished {
            failures[at] = MirrorError(
                .sourceChanged, "\(target): it was removed while its source was asked. Run again.",
                target: target)
        }
    }

    /// Whether files wait for their names.
    var hasStaged: Bool { staged.contains { $0 != nil } }

    /// Flushes the new bytes, or the names and the folders above them.
    mutating func flush(_ awaited: Awaited) throws(PromotionError) {
        do throws(Errno) {
            let made = environment.root.takeUnflushedFolders()
            let isShared = groupDevice != nil && hasChanged(awaited)
            if isShared { try environment.flush.flushGroup() }
            try environment.flush.flush(made, besideGroup: isShared)
            switch awaited {
            case .bytes: try flushBytes(afterShared: isShared)
            case .names: try folders.flush(besides: groupDevice)
            }
        } catch { throw .unflushed(error) }
    }

    /// Whether there is something to flush.
    private func hasChanged(_ awaited: Awaited) -> Bool {
        switch awaited {
        case .bytes: hasStaged || checked.hasOpened
        case .names: !folders.areUntouched
        }
    }

    private mutating func flushBytes(afterShared isShared: Bool) throws(Errno) {
        guard hasChanged(.bytes) else { return }
        if !isShared, let error = environment.probe.flushError() { throw error }
        for case let item? in staged {
            // Not fdatasync: the mode and the times must last too.
            if item.needsFlush { try item.file?.flush(path: item.path) }
        }
        try checked.flush(beneath: environment.root)
    }
}

// MARK: Works of no set

extension PromotionBatch {
    /// Takes all steps; in the end each work has been told how it ended. Throws what ends every later
    /// batch too.
    mutating func carryOut() throws(PromotionError) {
        try stage()
        try reached(.staged)
        try intend()
        try reached(.intended)
        try flush(.bytes)
        try reached(.flushedBytes)
        try place()
        try reached(.placed)
        try flush(.names)
        try reached(.flushedNames)
        cleanUp()
        try reached(.cleaned)
        try record()
        try reached(.indexed)
        tell()
    }

    /// Works that do not know yet how they ended.
    var untold: [PromotionWork] {
        works.enumerated().filter { !told.contains($0.offset) }.map(\.element)
    }

    // In the order of submission: a copy is made before its source is removed. A failure is told at
    // once: when the disk is full, the run asks for nothing more.
    private mutating func stage() throws(PromotionError) {
        var staging = Staging(
            index: environment.index, groupDevice: groupDevice, unnamed: environment.unnamed)
        for at in works.indices {
            do throws(Errno) { try environment.flush.flushManyMadeFolders() } catch {
                throw .unflushed(error)
            }
            do throws(MirrorError) {
                switch works[at].task {
                case .promote(let promotion):
                    try stage(promotion, at: at, by: &staging)
                case .confirm(let confirmed): try check(confirmed, at: at)
                case .remove(let removal): try remove(removal)
                case .promoteSet: break
                }
            } catch {
                failures[at] = error
                told.insert(at)
                works[at].receiver.promoted([works[at].failed(error)])
            }
        }
    }

    /// Gives everything its final name.
    private mutating func place() throws(PromotionError) {
        let placement = placement
        for at in staged.indices {
            guard let item = staged[at] else { continue }
            let target = item.promotion.target
            do { try place(item, placement) } catch let fault as PromotionError {
                guard case .failed(let error) = fault else { throw fault }
                giveUp(at, error)
            } catch let error as Errno {
                giveUp(at, MirrorError(error, target: target))
            } catch let error as IndexError {
                giveUp(at, error.mirrorError)
            } catch {
                giveUp(at, MirrorError(.internalError, "\(target): \(error)", target: target))
            }
        }
    }

    /// Tells each work how it ended.
    private func tell() {
        var reports = PromotionReports()
        for at in works.indices {
            if let error = failures[at] {
                if !told.contains(at) {
                    reports.add(works[at].failed(error), for: works[at])
                }
                continue
            }
            let end: PromotionEnd.Result
            switch works[at].task {
            case .promote(let promotion):
                let placed = staged[at]?.placed
                let stamp = placed?.stamp ?? promotion.record.stamp
                end = .promoted(promotion, .promoted(promotion, stamp, conflict: placed?.conflict))
            case .promoteSet: continue
            case .confirm: end = .confirmed
            case .remove: end = .removed(nil)
            }
            reports.add(PromotionEnd(works[at].number, end), for: works[at])
        }
        reports.deliver()
    }
}

/// The files of confirmations, each looked at once more before anything is promised.
///
/// Those that others wrote, and those that get another mode, need more than a row: they are flushed
/// before it is written.
struct CheckedFiles {
    /// Whether a file may have to be flushed, even one that was not as it should be.
    private(set) var hasOpened = false
    /// Files that must be flushed by themselves; those with another mode must be flushed in whole.
    private var unflushed: [(file: Descriptor, hasNewMode: Bool)] = []
    /// Stamps of files that were given another mode, by the position of their work.
    private var stamps: [Int: FileStamp] = [:]

    /// The stamp of a work's file since its mode was set; nil where it has the mode that it had.
    func stamp(of at: Int) -> FileStamp? { stamps[at] }

    /// Looks at the file of a work, and gives it its mode. Returns whether no group flush writes out
    /// its name.
    ///
    /// - Parameter groupDevice: the file system that a group flush writes out; nil when there is none.
    mutating func check(
        _ confirmed: Confirmed, at: Int, folders: inout FolderCache, groupDevice: UInt64?
    ) throws(MirrorError) -> Bool {
        let target = confirmed.target
        do throws(Errno) {
            let entry = try folders.entry(target.path)
            if !confirmed.isOfOthers, confirmed.mode == nil {
                // Hours may have passed since the plan looked at it.
                let there = try entry.status()
                if there?.isFile == true, there?.stamp == confirmed.seen { return false }
            }
            hasOpened = true
            let file = try entry.open(O_RDONLY)
            let status = try file.status(path: target.path)
            let isAsSeen = status.isFile && status.stamp == confirmed.seen
            if !isAsSeen, try !isTouched(file, status, confirmed) {
                throw Errno(number: ESTALE, call: "statx", path: target.path)
            }
            if let mode = confirmed.mode {
                try retryingLibc("fchmod", target.path) { fchmod(file.number, mode) }
                stamps[at] = try file.status(path: target.path).stamp
            }
            if status.device != groupDevice {
                unflushed.append((file, hasNewMode: confirmed.mode != nil))
                return confirmed.isOfOthers || !isAsSeen
            }
            return false
        } catch {
            switch error.number {
            case ENOENT: throw .changedSincePlan(target, isGone: true)
            // A link or a pipe may be in its place or its folder's, or its mode was changed.
            case ESTALE, ELOOP, ENOTDIR, ENXIO, EACCES:
                throw .changedSincePlan(target, isGone: false)
            default: throw MirrorError(error, target: target)
            }
        }
    }

    /// Whether a file has other times than the plan saw, and the same bytes.
    ///
    /// The row keeps the old times, so the next run reads the file again. The result is false for
    /// an adoption, which needs the stamp that was seen. With a new mode, it is false if more than
    /// the ctime changed. It is also false if the file changes while it is read.
    private func isTouched(
        _ file: Descriptor, _ status: FileStatus, _ confirmed: Confirmed
    ) throws(Errno) -> Bool {
        let record = confirmed.record
        guard status.isFile, !confirmed.isAdoption, record.stamp == confirmed.seen,
            record.stamp.size == status.stamp.size,
            confirmed.mode == nil || status.stamp.isSameVersion(as: confirmed.seen)
        else { return false }
        let path = record.target.path
        let digests = try FileDigests.compute(file, algorithms: [.sha256], path: path)
        let after = try file.status(path: path)
        return digests?.first == record.sha256 && after.stamp == status.stamp
    }

    /// Flushes the files that no group flush writes out.
    mutating func flush(beneath root: RootDirectory) throws(Errno) {
        for (file, hasNewMode) in unflushed {
            // fdatasync(2) need not write a mode.
            if hasNewMode {
                try file.flush(path: root.path)
            } else {
                try file.flushBytes(path: root.path)
            }
        }
        unflushed = []
    }
}
