internal import CLinux
internal import Glibc

/// Looks for the bytes that a plan would fetch in the stores that are folders.
///
/// A store is a folder with `cas/<sha256>`, or another root with its index, or both. Only names and
/// sizes are looked at. A run reads the files, and verifies them as those of any source. A store
/// that cannot be read costs a warning and no file.
struct StoreScan {
    let stores: [Store]
    let isCancelled: @Sendable () -> Bool

    /// Adds what the stores have to a plan. Looks at no store if the plan fetches no pinned file.
    func look(_ plan: inout Plan) throws {
        let folders = stores.filter { $0.url == nil }
        if folders.isEmpty { return }
        let wanted = plan.steps.notable.filter { plan.sha256(at: $0) != nil }
        if wanted.isEmpty { return }
        for store in folders {
            do throws(MirrorError) {
                try plan.stores.append(look(in: store, for: wanted, plan))
            } catch {
                if error.code == .cancelled { throw error }
                plan.warnings.append("The store \(store.place.printable): \(error.message)")
            }
        }
    }

    private func look(
        in store: Store, for wanted: [Int], _ plan: Plan
    ) throws(MirrorError) -> StoreContents {
        let root = try open(store)
        var contents = StoreContents(place: store.place, folder: root.path)
        var missing = wanted
        let files: Descriptor?
        do throws(Errno) { files = try root.openFolder("cas") } catch {
            guard error.number == ENOENT else { throw MirrorError(error) }
            files = nil
        }
        if let files {
            missing = []
            for position in wanted {
                if isCancelled() { throw MirrorError(wrapping: CancellationError()) }
                if let sha256 = plan.sha256(at: position),
                    StoreScan.size(of: sha256, in: files).map({
                        fits($0, at: position, plan)
                    }) == true
                {
                    contents.positions.insert(position)
                } else {
                    missing.append(position)
                }
            }
        }
        if root.isRoot {
            if !missing.isEmpty { try lookInTree(root, for: missing, plan, &contents) }
        } else if files == nil {
            throw MirrorError(
                .inputOutput,
                "it has neither a folder cas nor the index of a root, so it is not used.")
        }
        return contents
    }

    private func open(_ store: Store) throws(MirrorError) -> RootDirectory {
        guard let path = realpath(store.place, nil) else {
            throw MirrorError(
                .inputOutput, "\(String(cString: strerror(errno))), so it is not used.")
        }
        defer { free(path) }
        return try RootDirectory(opening: String(cString: path))
    }

    /// The size of a store's file. Returns nil if the store has no such file.
    private static func size(of sha256: Digest, in folder: Descriptor) -> Int64? {
        let status = try? FileStatus(
            folder: folder.number, name: sha256.hex, path: sha256.hex)
        return status.flatMap { $0.isFile ? $0.stamp.size : nil }
    }

    private func fits(_ size: Int64, at position: Int, _ plan: Plan) -> Bool {
        guard let (manifest, at) = plan.steps.request(at: position) else { return false }
        return plan.manifests[manifest].resources.size(at: at).map { $0 == size } ?? true
    }

    /// Finds files of another root by the digests that its index has.
    private func lookInTree(
        _ root: RootDirectory, for wanted: [Int], _ plan: Plan, _ contents: inout StoreContents
    ) throws(MirrorError) {
        let starts = SortedHashes(wanted.lazy.compactMap { plan.sha256(at: $0)?.start })
        var files: [Digest: String] = [:]
        let index = try Index.openForReading(root)
        defer { try? index.close() }
        var cursor = try index.projectionCursor(from: "")
        var looks = StatCursor(root)
        while try cursor.next() {
            if isCancelled() { throw MirrorError(wrapping: CancellationError()) }
            guard let row = cursor.row, starts.contains(Digest.start(of: row.sha256)) else {
                continue
            }
            let record = try cursor.wholeRecord()
            guard case .file(let stamp) = try looks.look(at: record.target),
                stamp.size == record.stamp.size
            else { continue }
            files[record.sha256] = record.target.path
        }
        for position in wanted {
            guard let path = plan.sha256(at: position).flatMap({ files[$0] }) else { continue }
            contents.positions.insert(position)
            contents.paths[position] = path
        }
    }
}
