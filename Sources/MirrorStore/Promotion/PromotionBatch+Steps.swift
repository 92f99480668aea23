internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// The steps after staging, in their order.
extension PromotionBatch {
    /// Writes the intents in one transaction; if that fails, no staged file is placed.
    mutating func intend() throws(PromotionFault) {
        guard !staged.isEmpty else { return }
        let intents = staged.keys.sorted().compactMap { staged[$0]?.intent }
        do throws(IndexError) {
            intended = try index.write { (batch: inout Database) throws(IndexError) in
                try batch.put(batch: intents)
            }
        } catch {
            for at in staged.keys.sorted() { abandon(at, error.mirrorError) }
            staged = [:]
        }
    }

    /// Makes new bytes and intents durable.
    mutating func flushBytes() throws(PromotionFault) {
        guard !staged.isEmpty || !adopted.isEmpty else { return }
        do throws(Errno) {
            if let error = probe.flushError() { throw error }
            if isGroup { try flush.flushGroup() }
            for item in staged.values {
                // Not fdatasync: the mode and the times must last too.
                if item.needsFlush { try item.file?.flush(path: item.intent.staged) }
            }
            for file in adopted { try file.flushBytes(path: root.path) }
            if !isGroup || !index.isOnDevice(flush.device) { try index.makeDurable() }
        } catch { throw .unflushed(error) }
        adopted = []
    }

    /// Gives everything its final name.
    mutating func place() throws(PromotionFault) {
        let placement = Placement(index: index, now: now, probe: probe)
        for at in staged.keys.sorted() {
            guard let item = staged[at] else { continue }
            let target = item.landing.target
            do { try place(item, at, placement) } catch let fault as PromotionFault {
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

    /// Gives one file its final name. Throws `Errno`, `IndexError` or `PromotionFault`.
    mutating func place(_ item: Staged, _ at: Int, _ placement: Placement) throws {
        placed[at] = try placement.place(item, folders: &folders)
        touch(folderOf: item.landing.target.path)
        if item.intent.kind == .move { touch(folderOf: item.intent.staged) }
    }

    /// Makes renames, removals and new folders durable.
    mutating func flushNames() throws(PromotionFault) {
        let made = root.takeUnflushedFolders()
        guard !touched.isEmpty || !made.isEmpty else { return }
        do throws(Errno) {
            if isGroup { try flush.flushGroup() }
            for path in touched.values {
                let folder = try folders.open(path)
                if !isGroup || folder.device != flush.device {
                    try folder.descriptor.flush(path: path)
                }
            }
            for folder in made {
                let device = try folder.status(path: root.path).device
                if !isGroup || device != flush.device { try folder.flush(path: root.path) }
            }
        } catch { throw .unflushed(error) }
    }

    /// Removes superseded files, which are not needed any more, and folders that they leave empty.
    mutating func cleanUp() {
        for (at, item) in placed {
            // A leftover that cannot be removed is settled by the next run.
            if let path = item.leftover { try? folders.entry(path).unlink() }
            if case .part(let name, _)? = staged[at]?.landing.content {
                try? folders.entry(TreePartStore.path(of: name)).unlink()
            }
        }
        for work in works {
            if case .remove(let removal) = work.task { removeEmptyFolders(above: removal.target) }
        }
    }

    /// Writes the rows, forgets the intents, and makes both durable.
    mutating func record() throws(PromotionFault) {
        let (staged, failures, unsettled, intended) = (staged, failures, unsettled, intended)
        let stamps = placed.mapValues(\.stamp)
        let restamped = restamped
        let works = works
        let setRows = setRows
        let vanished: [Int: Target]
        do throws(IndexError) {
            vanished = try index.write { (batch: inout Database) throws(IndexError) in
                var vanished: [Int: Target] = [:]
                if let intended {
                    try batch.removeBatch(intended)
                    let left = unsettled.sorted().compactMap { staged[$0]?.intent }
                    if !left.isEmpty { _ = try batch.put(batch: left) }
                } else {
                    try batch.removeIntents(
                        staged.filter { !unsettled.contains($0.key) }.map(\.value.number))
                }
                for (at, work) in works.enumerated() {
                    if let item = staged[at] {
                        if let stamp = stamps[at], !unsettled.contains(at) {
                            try batch.complete(item, stamp: stamp)
                        }
                    } else if failures[at] == nil {
                        switch work.task {
                        case .land, .landSet: break
                        case .confirm(let confirmed):
                            var record = confirmed.record
                            record.stamp = restamped[at] ?? record.stamp
                            if confirmed.isAdoption {
                                try batch.put(record)
                            } else if try !batch.replace(record) {
                                vanished[at] = record.target
                            }
                        case .remove(let removal): try batch.removeRecord(for: removal.target)
                        }
                    }
                }
                try setRows?.write(to: &batch, isSettled: unsettled.isEmpty)
                return vanished
            }
        } catch { throw .failed(error.mirrorError) }
        for (at, target) in vanished {
            self.failures[at] = MirrorError(
                .sourceChanged, "\(target): it was removed while its source was asked. Run again.",
                target: target)
        }
        do throws(Errno) { try index.makeDurable() } catch { throw .unflushed(error) }
    }

    /// Tells each work how it ended.
    func tell() {
        var reports = PromotionReports()
        for (at, work) in works.enumerated() {
            if let error = failures[at] {
                if !told.contains(at) { reports.add(work.failed(error), for: work) }
                continue
            }
            let end: PromotionEnd.Result
            switch work.task {
            case .land(let landing):
                var record = landing.record
                if let stamp = placed[at]?.stamp { record.stamp = stamp }
                let conflict = placed[at]?.conflict
                end = .landed(landing.target, .landed(record, conflict: conflict))
            case .landSet: continue
            case .confirm: end = .confirmed(nil)
            case .remove: end = .removed(nil)
            }
            reports.add(PromotionEnd(work.number, end), for: work)
        }
        reports.deliver()
    }

    /// Notes that a folder's entries changed.
    mutating func touch(_ folder: String) {
        touched[Array(folder.utf8)] = folder
        lastTouched = folder
    }

    private mutating func touch(folderOf path: String) {
        // Neighbours are mostly in one folder.
        if let lastTouched, PathText.isFolder(lastTouched, of: path) { return }
        touch(PathText.folder(of: path))
    }

    /// Abandons what could not be placed. Where a name has changed already, the staged name may hold
    /// what somebody else had put at the target, so nothing is removed.
    private mutating func giveUp(_ at: Int, _ error: MirrorError) {
        guard let item = staged[at], !isUntouched(item.intent) else { return abandon(at, error) }
        failures[at] = error
        unsettled.insert(at)
        touch(item.landing.target.folder)
    }

    /// Whether the staged name still holds the staged file, and no file was set aside.
    private mutating func isUntouched(_ intent: PromotionIntent) -> Bool {
        do {
            let source = try folders.entry(intent.staged).status()
            guard source?.stamp.inode == intent.stagedInode else { return false }
            guard let aside = intent.aside else { return true }
            return try folders.entry(aside).status() == nil
        } catch { return false }
    }

    mutating func abandon(_ at: Int, _ error: MirrorError) {
        failures[at] = error
        guard let item = staged[at], item.isDisposable else { return }
        try? folders.entry(item.intent.staged).unlink()
    }

    /// Removes the folders above a target that hold nothing more, but no area.
    mutating func removeEmptyFolders(above target: Target) {
        var path = target.folder
        while path.utf8.contains(UInt8(ascii: "/")) {
            guard let entry = try? folders.entry(path),
                unlinkat(entry.folder.number, entry.name, AT_REMOVEDIR) == 0
            else { break }
            path = FolderCache.split(path).folder
        }
        folders.drop()
    }
}

extension Database {
    /// Writes the row of a promotion that went through, and forgets what led to it.
    mutating func complete(_ item: Staged, stamp: FileStamp) throws(IndexError) {
        try put(item.landing.record, stamp: stamp)
        if !item.intent.staged.utf8.starts(with: "tmp/".utf8) {
            try forgetHiddenFile(item.intent.staged)
        }
        switch item.landing.content {
        case .part(let name, _): try removePart(named: name)
        case .move(let source) where item.intent.kind == .move: try removeRecord(for: source)
        case .memory, .copy, .copyOfPart, .move: break
        }
    }
}
