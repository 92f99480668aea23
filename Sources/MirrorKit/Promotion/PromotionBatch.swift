internal import CLinux
internal import Glibc

/// What must be on the disk before a promotion goes on.
enum Awaited {
    /// The new bytes.
    case bytes
    /// The names, and the folders above them.
    case names
}

/// Works that are promoted together, in the one order that survives a power cut.
///
/// 1. New bytes are written under names of mirror's own.
/// 2. The index records the intents, durably.
/// 3. The bytes are flushed.
/// 4. The files are renamed.
/// 5. The folders are flushed.
/// 6. The index records the rows, durably.
/// 7. The receivers get their results.
///
/// Many files share each flush. No step undoes what another one promised. If a step fails after a
/// name has changed, the intent stays, and the next run settles it. `SetPromotion` takes the same
/// steps for a set.
struct PromotionBatch {
    let environment: PromotionEnvironment
    /// The time at which the batch was made.
    let now: Instant
    let works: [PromotionWork]
    /// The file system that one flush writes out for all works.
    /// `nil` means that each file is flushed by itself.
    let groupDevice: UInt64?
    var folders: TouchedFolders
    /// Staged files by the position of their work.
    private(set) var staged: [StagedFile?]
    private(set) var checked = CheckedFiles()
    /// Errors by the position of their work.
    private(set) var failures: [Int: MirrorError] = [:]
    /// The positions of works that failed after a name had changed.
    /// Their intents stay, and the next run settles them.
    private(set) var unsettled: Set<Int> = []
    /// The positions of works whose failure was reported before the batch ended.
    private var told: Set<Int> = []

    init(_ works: [PromotionWork], in environment: PromotionEnvironment) {
        self.environment = environment
        self.works = works
        now = environment.now()
        staged = Array(repeating: nil, count: works.count)
        folders = TouchedFolders(environment.root)
        groupDevice = environment.groupDevice(count: works.count)
    }

    /// Gives files their final names, with the time of this batch.
    var placement: Placement {
        Placement(index: environment.index, now: now, probe: environment.probe)
    }

    /// Reports a step to tests. Throws `stopped` if a test simulates a power cut there.
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

    /// Checks the file of a confirmation, and sets its mode.
    mutating func check(_ confirmed: Confirmed, at: Int) throws(MirrorError) {
        let isByItself = try checked.check(
            confirmed, at: at, folders: &folders.cache, groupDevice: groupDevice)
        // The program that wrote the file may not have flushed the folder either.
        if isByItself { folders.touch(confirmed.target.folder) }
    }

    /// Writes the intents of a batch, durably. If the write fails, no staged file is placed.
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
            for at in staged.indices where staged[at] != nil {
                abandon(at, error.mirrorError(in: environment.index.place))
            }
            staged = Array(repeating: nil, count: staged.count)
        }
    }

    /// Removes a file that mirror put there. A missing file is no error.
    mutating func remove(_ removal: Removal) throws(MirrorError) {
        guard let entry = try removable(removal) else { return }
        do throws(Errno) { try entry.unlink() } catch {
            throw MirrorError(error, target: removal.target)
        }
        folders.touch(removal.target.folder)
    }

    /// Returns the entry of a file that may be removed. Returns nil if no file is there.
    /// Throws if the file is not the one that mirror put there.
    mutating func removable(_ removal: Removal) throws(MirrorError) -> DirectoryEntry? {
        let target = removal.target
        do throws(Errno) {
            let entry = try folders.cache.entry(target.path)
            guard let there = try entry.status() else { return nil }
            var isOurs = there.isFile
            if isOurs, removal.stamp != there.stamp {
                isOurs = try isAsRecorded(entry, target)
                // The reading may have taken long, so the file must still be the one that was read.
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

    /// Whether a file has the digest that its row says, whatever its stamp is.
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
        do { item.placed = try placement.place(item, folders: &folders.cache) } catch let error
            as Errno where error.number == ENOENT
        {
            // Another process may have removed the folder since it was made, because it was empty.
            folders.cache.drop()
            _ = try folders.cache.makeFolder(of: item.promotion.target.path)
            item.placed = try placement.place(item, folders: &folders.cache)
        }
        item.close()
        folders.touch(folderOf: item.promotion.target.path)
        if item.kind == .move { folders.touch(folderOf: item.path) }
    }

    /// Fails a work whose file could not be placed.
    /// If a name has changed already, the staged name may hold a file that another program had put
    /// at the target. Then no file is removed.
    mutating func giveUp(_ at: Int, _ error: MirrorError) {
        guard let item = staged[at], !isUntouched(item) else { return abandon(at, error) }
        failures[at] = error
        item.close()
        unsettled.insert(at)
        folders.touch(item.promotion.target.folder)
    }

    /// Whether the staged name still holds the staged file, and no old file was set aside.
    private mutating func isUntouched(_ item: StagedFile) -> Bool {
        do {
            let source = try folders.cache.entry(item.path).status()
            guard source?.stamp.inode == item.stamp.inode else { return false }
            guard let aside = item.aside else { return true }
            return try folders.cache.entry(aside).status() == nil
        } catch { return false }
    }

    /// Fails a work whose file has only its staged name. Removes the file if it is disposable.
    mutating func abandon(_ at: Int, _ error: MirrorError) {
        failures[at] = error
        guard let item = staged[at], item.isDisposable else { return }
        try? folders.cache.entry(item.path).unlink()
    }

    /// Removes files that are no longer needed, and folders that removals have left empty.
    mutating func cleanUp() {
        for case let item? in staged {
            guard let placed = item.placed else { continue }
            // If a leftover cannot be removed here, the next run settles it.
            if let path = placed.leftover { try? folders.cache.entry(path).unlink() }
            if case .part(let name, _) = item.promotion.content {
                try? folders.cache.entry(TreePartStore.path(of: name)).unlink()
            }
        }
        for work in works {
            if case .remove(let removal) = work.task { folders.removeEmpty(above: removal.target) }
        }
        // No more names change, and others need the descriptors.
        folders.cache.drop()
    }

    /// Writes the rows, and removes the intents.
    /// The write is durable if a receiver gets a result that holds only while the rows last.
    ///
    /// - Parameter setRows: further rows of a set. `nil` means that the works belong to no set.
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
        } catch { throw PromotionError(error, with: environment.index) }
        for (at, target) in vanished {
            failures[at] = MirrorError(
                .sourceChanged, "\(target): it was removed while its source was asked. Run again.",
                target: target)
        }
    }

    /// Whether a work has a staged file.
    var hasStaged: Bool { staged.contains { $0 != nil } }

    /// Flushes what is awaited: the new bytes, or the names and the folders above them.
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

    /// Whether there are bytes or names to flush.
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
            // fdatasync(2) does not suffice, because the mode and the times must last too.
            if item.needsFlush { try item.file?.flush(path: item.path) }
        }
        try checked.flush(beneath: environment.root)
    }
}

// MARK: Works of no set

extension PromotionBatch {
    /// Takes all steps. In the end, the receiver of each work has its result.
    /// Throws an error that ends every later batch too.
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

    /// The works whose results were not reported yet.
    var untold: [PromotionWork] {
        works.enumerated().filter { !told.contains($0.offset) }.map(\.element)
    }

    // Works are staged in the order of submission, so a copy is made before its source is removed.
    // A failure is reported at once: when the disk is full, the run then starts no more transfers.
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
                works[at].receiver.promoted([works[at]], [works[at].failed(error)])
            }
        }
    }

    /// Gives every staged file its final name.
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
                giveUp(at, error.mirrorError(in: environment.index.place))
            } catch {
                giveUp(at, MirrorError(.internalError, "\(target): \(error)", target: target))
            }
        }
    }

    /// Reports to each receiver how its works ended.
    private func tell() {
        var reports = PromotionReports()
        for at in works.indices {
            if let error = failures[at] {
                if !told.contains(at) {
                    reports.add(works[at].failed(error), of: works[at])
                }
                continue
            }
            let number = works[at].number
            let result: RunInput
            switch works[at].task {
            case .promote(let promotion):
                let placed = staged[at]?.placed
                let stamp = placed?.stamp ?? promotion.record.stamp
                result = .promoted(
                    number, .promoted(promotion, stamp, conflict: placed?.conflict))
            case .promoteSet: continue
            case .confirm: result = .confirmed(number, nil)
            case .remove: result = .removed(number, nil)
            }
            reports.add(result, of: works[at])
        }
        reports.deliver()
    }
}

/// The files of confirmations, each checked once more before its row is written.
///
/// A file that another program wrote, or that gets another mode, is flushed before its row is
/// written.
struct CheckedFiles {
    /// Whether a file was opened that may need a flush, even if the check of the file failed.
    private(set) var hasOpened = false
    /// The files that must be flushed by themselves. A new mode needs fsync(2), not fdatasync(2).
    private var unflushed: [(file: Descriptor, hasNewMode: Bool)] = []
    /// The stamps of files that were given another mode, by the position of their work.
    private var stamps: [Int: FileStamp] = [:]

    /// Returns the stamp of a work's file after its mode was set. Returns nil if it was not set.
    func stamp(of at: Int) -> FileStamp? { stamps[at] }

    /// Checks the file of a work, and sets its mode.
    /// Returns whether the file's folder must be flushed by itself.
    ///
    /// - Parameter groupDevice: the file system that a group flush writes out. `nil` means that
    ///   there is no group flush.
    mutating func check(
        _ confirmed: Confirmed, at: Int, folders: inout FolderCache, groupDevice: UInt64?
    ) throws(MirrorError) -> Bool {
        let target = confirmed.target
        do throws(Errno) {
            let entry = try folders.entry(target.path)
            if !confirmed.isOfOthers, confirmed.mode == nil {
                // Hours may have passed since the plan looked at the file.
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
            // A link or a pipe may be in place of the file or its folder, or the file's mode was
            // changed.
            case ESTALE, ELOOP, ENOTDIR, ENXIO, EACCES:
                throw .changedSincePlan(target, isGone: false)
            default: throw MirrorError(error, target: target)
            }
        }
    }

    /// Whether a file has other times than the plan saw, but the same bytes.
    ///
    /// The row keeps the old times, so the next run reads the file again. The result is false for
    /// an adoption, which needs the stamp that was seen. With a new mode, the result is false if
    /// more than the ctime changed. It is also false if the file changes while this method reads
    /// it.
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
            // fdatasync(2) need not write a mode, so a new mode needs fsync(2).
            if hasNewMode {
                try file.flush(path: root.path)
            } else {
                try file.flushBytes(path: root.path)
            }
        }
        unflushed = []
    }
}
