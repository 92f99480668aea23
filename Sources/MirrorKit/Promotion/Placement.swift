internal import Glibc

/// How a target got its new bytes.
struct Placed {
    /// The stamp of the target's file now.
    var stamp: FileStamp
    /// The conflict name that a file of another program got.
    var conflict: Target?
    /// The path of a file of mirror's that is no longer needed. It is removed after the next flush.
    var leftover: String?
}

/// Gives staged bytes their final name, and keeps files that mirror did not put there.
///
/// The target may have changed since the plan was made, and again between the check and the rename.
/// So a rename to a free name cannot replace a file (`RENAME_NOREPLACE`). In Documents, an exchange
/// (`RENAME_EXCHANGE`) keeps the replaced file until it was checked. In Caches and `tmp`, a rename
/// replaces the file that was checked before.
struct Placement {
    let index: Index
    let now: Instant
    let probe: PromotionProbe

    /// Checks the target, and gives the staged file its name. Returns how the target got the bytes.
    /// Throws `Errno`, `IndexError` or `PromotionError`.
    func place(_ staged: StagedFile, folders: inout FolderCache) throws -> Placed {
        let target = staged.promotion.target
        let entry = try folders.entry(target.path)
        var conflict: Target?
        var unnamed = staged.isUnnamed ? staged.file : nil
        // If the plan saw no file, the name is probably free. If not, the link fails.
        if let unnamed, case .nothing = staged.promotion.expected,
            try unnamed.linkIfFree(to: entry)
        {
            return Placed(stamp: try stamp(of: entry, placing: staged))
        }
        let source = try folders.entry(staged.path)
        // An orphan has its old name until now, and another program may have written to it there.
        if staged.kind == .move, try source.status()?.stamp.isSameVersion(as: staged.stamp) != true
        {
            throw PromotionError.failed(.changed(staged.path, for: target))
        }
        // After eight attempts, the promotion fails if another program keeps putting files there.
        for _ in 1...8 {
            guard let there = try entry.status() else {
                do throws(Errno) {
                    if let unnamed {
                        try unnamed.link(to: entry)
                    } else {
                        try source.renameToFree(entry)
                    }
                } catch {
                    if error.number == EEXIST { continue }
                    throw error
                }
                return Placed(stamp: try stamp(of: entry, placing: staged), conflict: conflict)
            }
            guard there.isFile else { throw PromotionError.obstructed(target, there) }
            // All further ways rename or remove the staged file, so it needs a name.
            if let file = unnamed { try file.link(to: source) }
            unnamed = nil
            if try isOurs(entry, there, promotion: staged.promotion) {
                if let placed = try replace(entry, there, by: staged, at: source) { return placed }
                continue
            }
            if try isWanted(entry, there, staged.promotion.record) {
                return try adopt(entry, there, instead: staged)
            }
            switch staged.promotion.onConflict {
            case .keep: throw PromotionError.kept(target)
            case .replace:
                if let placed = try replace(entry, there, by: staged, at: source) { return placed }
            case .rename:
                conflict = try ConflictCopy.give(to: entry, beside: entry, target: target, now: now)
            }
        }
        throw Errno(number: EBUSY, call: "renameat2", path: target.path)
    }

    /// Replaces a file that may be removed with the staged file.
    /// Returns nil if the file is gone already.
    private func replace(
        _ entry: DirectoryEntry, _ there: FileStatus, by staged: StagedFile,
        at source: DirectoryEntry
    ) throws -> Placed? {
        guard staged.promotion.target.area == .documents else {
            try source.replace(entry)
            return Placed(stamp: try stamp(of: entry, placing: staged))
        }
        guard probe.allowsExchange else {
            return try replaceWithoutExchange(entry, there, by: staged, at: source)
        }
        do throws(Errno) {
            try source.exchange(with: entry)
        } catch {
            if error.number == ENOENT { return nil }
            guard error.isUnsupportedRename else { throw error }
            return try replaceWithoutExchange(entry, there, by: staged, at: source)
        }
        guard probe.goesOn(.exchanged) else { throw PromotionError.stopped }
        return try settle(source, there, staged, entry)
    }

    /// Keeps the existing file under a second name while the staged file replaces it.
    /// Returns nil if the existing file is gone already, or if the staged file has no `aside`.
    private func replaceWithoutExchange(
        _ entry: DirectoryEntry, _ there: FileStatus, by staged: StagedFile,
        at source: DirectoryEntry
    ) throws -> Placed? {
        guard let path = staged.aside else { return nil }
        let aside = entry.sibling(FolderCache.split(path).name)
        do throws(Errno) {
            try entry.link(to: aside)
        } catch {
            if error.number == ENOENT { return nil }
            guard error.isUnsupportedLink else { throw error }
            try entry.renameToFree(aside)
        }
        guard probe.goesOn(.setAside) else { throw PromotionError.stopped }
        do throws(Errno) { try source.replace(entry) } catch {
            // If the old file cannot be put back now, the next run does it.
            if (try? entry.status()) == nil {
                try? aside.renameToFree(entry)
            } else {
                try? aside.unlink()
            }
            throw error
        }
        return try settle(aside, there, staged, entry)
    }

    /// Checks the file that was replaced. It is removed later if it is mirror's own.
    /// Any other file gets a conflict name.
    private func settle(
        _ out: DirectoryEntry, _ there: FileStatus, _ staged: StagedFile, _ entry: DirectoryEntry
    ) throws -> Placed {
        var placed = Placed(stamp: try stamp(of: entry, placing: staged))
        guard let outStatus = try out.status() else { return placed }
        if try staged.replaces || outStatus.stamp.isSameVersion(as: there.stamp)
            || isKnown(out, outStatus, target: staged.promotion.target)
        {
            placed.leftover = out.path
        } else {
            placed.conflict = try ConflictCopy.give(
                to: out, beside: entry, target: staged.promotion.target, now: self.now)
        }
        return placed
    }

    func isOurs(_ entry: DirectoryEntry, _ there: FileStatus, promotion: Promotion) throws
        -> Bool
    {
        switch promotion.expected {
        case .ours(let stamp) where stamp == there.stamp: true
        case .foreign: false
        default: try isKnown(entry, there, target: promotion.target)
        }
    }

    /// Whether a file holds the version that the index says mirror put at the target.
    /// The file is read unless its stamp already proves it.
    func isKnown(_ entry: DirectoryEntry, _ status: FileStatus, target: Target) throws
        -> Bool
    {
        let row = try index.read { (database: inout Database) throws(IndexError) in
            try database.record(for: target)
        }
        guard let row, status.isFile, row.stamp.size == status.stamp.size else { return false }
        return try row.stamp == status.stamp || sha256(of: entry) == row.sha256
    }

    func isWanted(
        _ entry: DirectoryEntry, _ there: FileStatus, _ record: IndexRecord
    ) throws -> Bool {
        try there.stamp.size == record.stamp.size && sha256(of: entry) == record.sha256
    }

    /// Keeps the file at the target, because it has the wanted bytes already.
    /// The staged file is then no longer needed.
    private func adopt(
        _ entry: DirectoryEntry, _ there: FileStatus, instead staged: StagedFile
    ) throws -> Placed {
        let file = try entry.open(O_RDONLY)
        do throws(Errno) { try file.flushBytes(path: entry.path) } catch {
            throw PromotionError.unflushed(error)
        }
        let staging = staged.kind == .promotion ? staged.path : nil
        return Placed(stamp: there.stamp, leftover: staging)
    }

    private func stamp(
        of entry: DirectoryEntry, placing staged: StagedFile
    ) throws -> FileStamp {
        if let error = probe.lookError() { throw error }
        guard let status = try entry.status() else {
            throw Errno(number: ENOENT, call: "statx", path: entry.path)
        }
        return staged.recordedStamp(of: status.stamp)
    }

    /// Returns the digest of a file.
    /// Returns nil if the file cannot be read, so that it counts as no known version.
    private func sha256(of entry: DirectoryEntry) throws(Errno) -> Digest? {
        do throws(Errno) {
            return try FileDigests.compute(
                try entry.open(O_RDONLY), algorithms: [.sha256], path: entry.path)?.first
        } catch {
            if [EACCES, EPERM, EIO].contains(error.number) { return nil }
            throw error
        }
    }
}

extension FileStamp {
    /// Whether a file changed only by renames or links, which change only its ctime.
    func isSameVersion(as other: FileStamp) -> Bool {
        inode == other.inode && size == other.size && modified == other.modified
    }
}

extension ConflictCopy {
    /// Renames a file, which may be in another folder, to the first free conflict name of a target.
    /// Returns that name. Throws `PromotionError` if no such name is free.
    static func give(
        to entry: DirectoryEntry, beside place: DirectoryEntry, target: Target, now: Instant
    ) throws -> Target {
        for attempt in 1...1000 {
            guard let name = ConflictCopy.make(for: target, at: now, attempt: attempt) else {
                break
            }
            do throws(Errno) {
                try entry.renameToFree(place.sibling(name.name))
                return name
            } catch {
                if error.number != EEXIST { throw error }
            }
        }
        throw PromotionError.failed(
            MirrorError(
                .conflict,
                "\(target): no conflict name is free for the file that is there. Move it away.",
                target: target))
    }
}
