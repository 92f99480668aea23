internal import Glibc

/// Ends a conflict: one of its two files stays at the target, the other leaves the tree.
///
/// A conflict copy that gets its target back counts as edited. mirror keeps the edited file while
/// the manifest wants the version that it knows. The file that leaves is kept as one of
/// `ResolvedFiles`. As long as it is there, the same call with the other side exchanges both.
package struct ConflictResolution: Sendable {
    private let name: Target
    private let side: ConflictSide

    /// Selects a conflict and the file that stays.
    ///
    /// - Parameters:
    ///   - name: the target, or one of its conflict copies if there are several.
    ///   - side: which file stays; `mine` is the conflict copy.
    package init(of name: Target, keeping side: ConflictSide) {
        (self.name, self.side) = (name, side)
    }

    /// Ends the conflict.
    ///
    /// - Parameters:
    ///   - session: a session of the root.
    ///   - wait: seconds to wait for another run's end.
    /// - Throws: `MirrorError` with `usage` if there is no such conflict, or with `conflict`,
    ///   `locked` or `inputOutput`.
    package func carryOut(
        in session: MirrorSession, waitingSeconds wait: Int64 = 0
    ) async throws -> ResolveReport {
        try await session.engine.requireSoundIndex()
        return try await session.engine.using(waitingSeconds: wait) { engine in
            try await Offload.run {
                let (ending, isChange) = try decide(in: engine)
                let files =
                    [ending.target]
                    + ([ending.restored].compactMap(\.self) + ending.removed).map(\.copy)
                var held: [Target] = []
                defer { engine.locks.unlock(held) }
                for file in files {
                    guard engine.locks.lockIfFree(file) else {
                        throw MirrorError.inUse(file)
                    }
                    held.append(file)
                }
                return try carryOut(ending, isChange, in: engine)
            }
        }
    }

    /// Decides how the conflict ends, or how the choice changes for a conflict that was ended.
    private func decide(
        in engine: Engine
    ) throws -> (ending: ResolveReport, isChange: Bool) {
        let view = TreeView(root: engine.root, index: engine.index)
        let scan = try ConflictScan(beside: name, in: engine.index)
        let copies = try scan.copies(in: view)
        let isMeant = { (copy: ConflictCopy) in copy.copy == name || copy.target == name }
        let kept =
            copies.contains(where: isMeant)
            ? []
            : try scan.copies(in: view, beneath: ResolvedFiles.folder(of: side)).filter(isMeant)
        var ending = try ResolveReport.decide(
            name, keeping: side, among: kept.isEmpty ? copies : kept, root: engine.root.path)
        if !kept.isEmpty, side == .theirs {
            // The names begin with the same text and have the time, so the last is the newest.
            (ending.restored, ending.removed) = (ending.removed.last, [])
        }
        return (ending, !kept.isEmpty)
    }

    private func carryOut(
        _ decided: ResolveReport, _ isChange: Bool, in engine: Engine
    ) throws -> ResolveReport {
        var ending = decided
        var folders = FolderCache(engine.root)
        let resolved = ResolvedFiles(engine.root)
        do {
            let entry = try folders.entry(ending.target.path)
            let there = try entry.status()
            if let copy = ending.restored {
                let restored =
                    isChange
                    ? try resolved.entry(of: copy.copy, side)
                    : entry.sibling(copy.copy.name)
                if try restore(restored, to: entry, there, ending, in: engine) {
                    ending.setAside +=
                        try resolved.keep(restored, as: copy.copy, side.other)
                        .map { [$0] } ?? []
                }
                if side == .theirs { try note(entry, ending.target, in: engine) }
            } else {
                guard there?.isFile == true else {
                    throw MirrorError(
                        .conflict,
                        "\(ending.target): mirror's version is not there, so its copy was kept.",
                        target: ending.target, remedy: Remedy(.syncFirst))
                }
                for copy in ending.removed {
                    ending.setAside +=
                        try resolved.keep(
                            entry.sibling(copy.copy.name), as: copy.copy, side.other
                        ).map { [$0] } ?? []
                }
            }
            try entry.folder.flush(path: ending.target.folder)
        } catch let error as Errno { throw MirrorError(error, target: ending.target) }
        return ending
    }

    /// Gives a file the target's name. Returns whether it has the name of the file that was there.
    ///
    /// A file that was changed gives way only to a version of mirror's, and is kept.
    private func restore(
        _ copy: DirectoryEntry, to entry: DirectoryEntry, _ there: FileStatus?,
        _ ending: ResolveReport, in engine: Engine
    ) throws -> Bool {
        guard let there else {
            try copy.renameToFree(entry)
            return false
        }
        switch (side, try isOurs(entry, there, ending.target, in: engine)) {
        case (.mine, false): throw bothChanged(ending.target)
        case (.theirs, true):
            throw MirrorError(
                .usage, "\(ending.target): the manifest's version is there already.",
                target: ending.target)
        case (.theirs, false) where !there.isFile:
            throw MirrorError(
                .obstructed, "\(ending.target): something that is no file is there.",
                target: ending.target)
        case (.mine, true), (.theirs, false): break
        }
        do throws(Errno) { try copy.exchange(with: entry) } catch {
            guard error.isUnsupportedRename, side == .mine else { throw error }
            try copy.replace(entry)
            return false
        }
        // Another program may have changed or replaced the file after it was checked.
        guard let out = try copy.status() else { return false }
        guard out.stamp.isSameVersion(as: there.stamp) || side == .theirs
        else { throw bothChanged(ending.target) }
        return true
    }

    /// Notes that the file at a target is the version of its row again, if its bytes are.
    private func note(_ entry: DirectoryEntry, _ target: Target, in engine: Engine) throws {
        guard let there = try entry.status(), try isOurs(entry, there, target, in: engine)
        else { return }
        try engine.index.setStamp(there.stamp, of: target)
    }

    private func isOurs(
        _ entry: DirectoryEntry, _ there: FileStatus, _ target: Target, in engine: Engine
    ) throws -> Bool {
        guard there.isFile, let row = try engine.index.record(for: target) else { return false }
        if row.stamp == there.stamp { return true }
        guard row.stamp.size == there.stamp.size else { return false }
        let digest = try FileDigests.compute(
            try entry.open(O_RDONLY), algorithms: [.sha256], path: entry.path)
        return digest?.first == row.sha256
    }

    private func bothChanged(_ target: Target) -> MirrorError {
        MirrorError(
            .conflict,
            "\(target): the file that is there was changed too, so both are kept. Move one of them away, then run again.",
            target: target)
    }
}
