internal import Glibc

/// Ends a conflict: the conflict copy gets its target back, or is removed.
///
/// A copy that gets its target back counts as edited. mirror keeps the edited file while the
/// manifest wants the version that is at the target now.
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
                let ending = try ResolveReport.decide(
                    name, keeping: side, among: try copies(in: engine), root: session.root)
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
                try carryOut(ending, in: engine)
                return ending
            }
        }
    }

    /// The conflict copies in the folder of the target.
    private func copies(in engine: Engine) throws -> [ConflictCopy] {
        var scan = ConflictScan()
        scan.note(name)
        // A copy may have a cut name. The other targets of the folder show to which target it
        // belongs.
        let prefix = Array((name.folder + "/").utf8)
        var cursor = try engine.index.projectionCursor(from: name.folder + "/")
        while try cursor.next(), let row = cursor.row, row.path.starts(with: prefix) {
            let rest = row.path.dropFirst(prefix.count)
            if !rest.contains(UInt8(ascii: "/")) { scan.note(try cursor.rowTarget()) }
        }
        return try scan.copies(in: TreeView(root: engine.root, index: engine.index))
    }

    private func carryOut(_ ending: ResolveReport, in engine: Engine) throws {
        var folders = FolderCache(engine.root)
        do {
            let entry = try folders.entry(ending.target.path)
            let there = try entry.status()
            if let copy = ending.restored {
                try restore(entry.sibling(copy.copy.name), to: entry, there, ending, in: engine)
            } else {
                guard there?.isFile == true else {
                    throw MirrorError(
                        .conflict,
                        "\(ending.target): mirror's version is not there, so its copy was kept.",
                        target: ending.target, remedy: Remedy(.syncFirst))
                }
                for copy in ending.removed { try entry.sibling(copy.copy.name).unlink() }
            }
            try entry.folder.flush(path: ending.target.folder)
        } catch let error as Errno { throw MirrorError(error, target: ending.target) }
    }

    /// Gives a copy the target's name. Removes the file there only if mirror put it there.
    private func restore(
        _ copy: DirectoryEntry, to entry: DirectoryEntry, _ there: FileStatus?,
        _ ending: ResolveReport, in engine: Engine
    ) throws {
        guard let there else { return try copy.renameToFree(entry) }
        guard try isOurs(entry, there, ending.target, in: engine)
        else { throw bothChanged(ending.target) }
        do throws(Errno) { try copy.exchange(with: entry) } catch {
            guard error.isUnsupportedRename else { throw error }
            return try copy.replace(entry)
        }
        // Another program may have changed or replaced the file after it was checked.
        guard let out = try copy.status() else { return }
        guard out.stamp.inode == there.stamp.inode, out.stamp.size == there.stamp.size,
            out.stamp.modified == there.stamp.modified
        else { throw bothChanged(ending.target) }
        try copy.unlink()
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
