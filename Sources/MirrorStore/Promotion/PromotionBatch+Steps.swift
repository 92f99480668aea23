internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// The steps after staging, in their order.
extension PromotionBatch {
    /// Writes the intents in one transaction; if that fails, no staged file is placed.
    mutating func intend() throws(PromotionFault) {
        guard hasStaged else { return }
        // Most intents are shorter.
        var intents = PackedWriter(room: staged.count * 448)
        for case let item? in staged { item.pack(into: &intents) }
        self.intents = intents
        do throws(IndexError) {
            intended = try index.write { (batch: inout Database) throws(IndexError) in
                try IntentRows.put(batch: intents, in: &batch)
            }
        } catch {
            for at in staged.indices where staged[at] != nil { abandon(at, error.mirrorError) }
            staged = Array(repeating: nil, count: staged.count)
        }
    }

    /// Gives everything its final name.
    mutating func place() throws(PromotionFault) {
        let placement = Placement(index: index, now: now, probe: probe)
        for at in staged.indices {
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
    mutating func place(_ item: StagedFile, _ at: Int, _ placement: Placement) throws {
        item.placed = try placement.place(item, folders: &folders)
        item.close()
        touch(folderOf: item.landing.target.path)
        if item.kind == .move { touch(folderOf: item.path) }
    }

    /// Removes superseded files, which are not needed any more, and folders that they leave empty.
    mutating func cleanUp() {
        for case let item? in staged {
            guard let placed = item.placed else { continue }
            // A leftover that cannot be removed is settled by the next run.
            if let path = placed.leftover { try? folders.entry(path).unlink() }
            if case .part(let name, _) = item.landing.content {
                try? folders.entry(TreePartStore.path(of: name)).unlink()
            }
        }
        for work in works {
            if case .remove(let removal) = work.task { removeEmptyFolders(above: removal.target) }
        }
        // Nothing is named any more, and other batches need descriptors.
        folders.drop()
    }

    /// Writes the rows, and forgets the intents.
    mutating func record() throws(PromotionFault) {
        let (staged, unsettled, intended) = (staged, unsettled, intended)
        let setRows = setRows
        var rows = BatchRows(intents)
        let vanished: [Int: Target]
        do throws(IndexError) {
            vanished = try index.write { (batch: inout Database) throws(IndexError) in
                if let intended {
                    try IntentRows.removeBatch(intended, in: &batch)
                    let left = unsettled.sorted().compactMap { staged[$0]?.intent }
                    if !left.isEmpty { _ = try IntentRows.put(batch: left, in: &batch) }
                } else {
                    try IntentRows.remove(
                        staged.indices.compactMap {
                            unsettled.contains($0) ? nil : staged[$0]?.number
                        }, in: &batch)
                }
                let vanished = try write(&rows, to: &batch)
                try setRows?.write(to: &batch, isSettled: unsettled.isEmpty)
                return vanished
            }
        } catch { throw .failed(error.mirrorError) }
        for (at, target) in vanished {
            self.failures[at] = MirrorError(
                .sourceChanged, "\(target): it was removed while its source was asked. Run again.",
                target: target)
        }
    }

    /// Writes what becomes of each row, in the order of the works; returns the targets of rows that are
    /// gone, so that nothing could be confirmed.
    private func write(
        _ rows: inout BatchRows, to batch: inout Database
    ) throws(IndexError) -> [Int: Target] {
        var vanished: [Int: Target] = [:]
        for at in works.indices {
            if let item = staged[at] {
                if !unsettled.contains(at) { try rows.complete(item, &batch) }
                continue
            }
            if failures[at] != nil { continue }
            switch works[at].task {
            case .land, .landSet: break
            case .confirm(let confirmed):
                try rows.write(to: &batch)
                if try !confirmed.write(to: &batch, restamped: restamped[at]) {
                    vanished[at] = confirmed.target
                }
            case .remove(let removal):
                try rows.write(to: &batch)
                try FileRows.remove(removal.target, in: &batch)
            }
        }
        try rows.write(to: &batch)
        return vanished
    }

    /// Tells each work how it ended.
    func tell() {
        var reports = PromotionReports()
        for at in works.indices {
            if let error = failures[at] {
                if !told.contains(at) { reports.add(works[at].failed(error), for: works[at]) }
                continue
            }
            let end: PromotionEnd.Result
            switch works[at].task {
            case .land(let landing):
                let placed = staged[at]?.placed
                let stamp = placed?.stamp ?? landing.record.stamp
                end = .landed(landing, .landed(landing, stamp, conflict: placed?.conflict))
            case .landSet: continue
            case .confirm: end = .confirmed
            case .remove: end = .removed(nil)
            }
            reports.add(PromotionEnd(works[at].number, end), for: works[at])
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
        guard let item = staged[at], !isUntouched(item) else { return abandon(at, error) }
        failures[at] = error
        item.close()
        unsettled.insert(at)
        touch(item.landing.target.folder)
    }

    /// Whether the staged name still holds the staged file, and no file was set aside.
    private mutating func isUntouched(_ item: StagedFile) -> Bool {
        do {
            let source = try folders.entry(item.path).status()
            guard source?.stamp.inode == item.stamp.inode else { return false }
            guard let aside = item.aside else { return true }
            return try folders.entry(aside).status() == nil
        } catch { return false }
    }

    mutating func abandon(_ at: Int, _ error: MirrorError) {
        failures[at] = error
        guard let item = staged[at], item.isDisposable else { return }
        try? folders.entry(item.path).unlink()
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

extension Confirmed {
    /// Writes the row; returns false where the target has none any more, and the file is not adopted.
    ///
    /// - Parameter restamped: the file's stamp since its mode was set.
    fileprivate func write(
        to database: inout Database, restamped: FileStamp?
    ) throws(IndexError) -> Bool {
        switch row {
        case .replaced(let record):
            let stamp = restamped ?? record.stamp
            if !isAdoption { return try FileRows.replace(record, stamp: stamp, in: &database) }
            try FileRows.put(record, stamp: stamp, in: &database)
            return true
        case .confirmedAgain(let record, let now, let freshUntil):
            return try FileRows.confirm(
                record.target, at: now, freshUntil: freshUntil, in: &database)
        }
    }
}
