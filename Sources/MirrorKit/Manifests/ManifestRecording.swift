internal import CLinux
internal import Glibc

/// Records the manifests of an executed plan in the index, with their last good copies.
struct ManifestRecording: Sendable {
    /// The manifests as they were read before the run. Another process may have read newer texts
    /// since.
    private let known: [FetchedManifest]
    private let plan: Plan
    private let engine: Engine

    init(_ known: [FetchedManifest], of plan: Plan, in engine: Engine) {
        (self.known, self.plan, self.engine) = (known, plan, engine)
    }

    /// Remembers new manifests while their plan is executed, and returns the digests of their
    /// copies.
    ///
    /// The result is keyed by the names of the manifests. If the run is killed, the next run then
    /// knows its manifests. The work is done during the run, because copying and flushing a long
    /// manifest takes as long as some hundred files. `write` repeats what fails here. If no row
    /// names a copy in the end, a later run removes the copy (`ManifestCopy.sweep`).
    func rememberNew() async -> [String: Digest] {
        if known.isEmpty || plan.isEmpty { return [:] }
        let copies = try? await Offload.run {
            let rows = try engine.index.manifests()
            // A run that is killed has begun with the new selections.
            let reselected = rows.compactMap { row -> ManifestRecord? in
                guard
                    let selection = known.first(where: { $0.record.name == row.name })?.record
                        .selection, selection != row.selection
                else { return nil }
                var row = row
                row.selection = selection
                return row
            }
            if !reselected.isEmpty { try engine.index.put(reselected) }
            let root = resolvedPath(engine.root.path) ?? engine.root.path
            let names = Set(rows.map(\.name))
            // `write` gives the targets of a former name to the new one, so no row is written for
            // it here.
            let renamed = Set(
                OwnerBook.formerNames(of: plan.manifests, among: rows, root: root).values
                    .map { plan.manifests[$0].owner })
            return known.reduce(into: [String: Digest]()) { copies, manifest in
                let name = manifest.record.name
                guard !names.contains(name), let text = manifest.text, manifest.isAsRead,
                    let copy = try? ManifestCopy.write(text, of: name, in: engine.root)
                else { return }
                copies[name] = copy
                if !renamed.contains(name) { try? remember(manifest, copy, at: root) }
            }
        }
        return copies ?? [:]
    }

    /// Writes the row of a manifest whose plan is being executed, without a time of sync.
    private func remember(
        _ manifest: FetchedManifest, _ copy: Digest, at root: String
    ) throws {
        var record = try manifest.record(
            after: nil, in: engine.root, at: root, isSynced: true, copy: copy)
        record?.syncedAt = nil
        if let record { try engine.index.put([record]) }
    }

    /// Writes the rows of the manifests after the run.
    ///
    /// A run that finds nothing to do leaves the index as it is, unless a manifest has another
    /// place or another text.
    ///
    /// - Parameter copies: the result of `rememberNew`.
    func write(copies: [String: Digest]) async throws {
        guard !known.isEmpty else { return }
        try await Offload.run {
            let root = resolvedPath(engine.root.path) ?? engine.root.path
            let rows = try engine.index.manifests()
            var changed: [ManifestRecord] = []
            for manifest in known {
                let row = rows.first { $0.name == manifest.record.name }
                var record = try manifest.record(
                    after: row, in: engine.root, at: root,
                    isSynced: !plan.isEmpty && !plan.isOnlyRemovals,
                    copy: copies[manifest.record.name])
                // A run that only removes files is no sync.
                if plan.isOnlyRemovals { record?.syncedAt = row?.syncedAt }
                if let record { changed.append(record) }
            }
            try engine.index.renameManifests(
                OwnerBook.formerNames(of: plan.manifests, among: rows, root: root)
                    .map { (old: $0.key, new: plan.manifests[$0.value].owner) })
            guard !changed.isEmpty else { return }
            let names = Set(rows.compactMap(\.copyName))
            let hasNewCopy = changed.contains { $0.copyName.map(names.contains) == false }
            // A new row replaces the row that names the previous copy. This commit must be durable
            // before the sweep removes that copy.
            try engine.index.put(changed, durably: hasNewCopy)
            if hasNewCopy {
                ManifestCopy.sweep(engine.root, keeping: try engine.index.manifests())
            }
        }
    }
}

/// The facts about a manifest that a session has read; the index stores them when the plan runs.
struct FetchedManifest: Sendable {
    var record: ManifestRecord
    /// The path that the manifest was read from. `nil` for a URL.
    var path: String?
    /// The text that becomes the last good copy. `nil` if the existing copy is current.
    var text: ManifestText?

    /// The `whereabouts` of the manifest that these facts belong to.
    var whereabouts: Manifest.Whereabouts {
        if case .url(let key) = record.place { return .url(key) }
        return .file(path: path ?? "")
    }

    /// The row to write, once the copy is made. Returns nil if the existing row is still right.
    func record(
        after row: ManifestRecord?, in root: RootDirectory, at rootPath: String, isSynced: Bool,
        copy: Digest?
    ) throws(MirrorError) -> ManifestRecord? {
        var record = record
        record.place = path.map { ManifestPlace(path: $0, root: rootPath) } ?? record.place
        record.syncedAt = SystemClock.now()
        let hasCopy = row.map { ManifestCopy.isThere($0, in: root) } ?? false
        let isSame =
            hasCopy && row?.place == record.place && row?.stamp == record.stamp
            && row?.hint == record.hint
        if path != nil, isSame, !isSynced, row?.selection == record.selection { return nil }
        if path == nil, text == nil {
            // The server confirmed the copy that the existing row names.
            record.copiedAt = SystemClock.now()
        } else if let row, isSame, path != nil {
            (record.copyName, record.copyDigest) = (row.copyName, row.copyDigest)
            record.copiedAt = row.copiedAt
        } else {
            try takeCopy(into: &record, after: hasCopy ? row : nil, root, copy)
        }
        return record
    }

    /// Whether the manifest's file is unchanged since it was read.
    var isAsRead: Bool {
        guard case .open(let file)? = text else { return true }
        return (try? file.status(path: path ?? ""))?.stamp == record.stamp
    }

    /// Makes the last good copy of the text, unless the previous copy has the same text.
    private func takeCopy(
        into record: inout ManifestRecord, after row: ManifestRecord?, _ root: RootDirectory,
        _ taken: Digest?
    ) throws(MirrorError) {
        guard let text else { return }
        if case .open(let file) = text {
            guard isAsRead else {
                // The file has changed since it was read, so the next run makes the copy.
                record.stamp = nil
                (record.copyName, record.copyDigest) = (row?.copyName, row?.copyDigest)
                record.copiedAt = row?.copiedAt
                return
            }
            if let row, let known = row.copyDigest,
                let digest = try? ManifestCopy.digest(of: file, path: path ?? ""), digest == known
            {
                (record.copyName, record.copyDigest) = (row.copyName, row.copyDigest)
                record.copiedAt = row.copiedAt
                return
            }
        }
        if let taken, ManifestCopy.isThere(ManifestCopy.name(of: record.name, taken), in: root) {
            record.copyDigest = taken
        } else {
            record.copyDigest = try ManifestCopy.write(text, of: record.name, in: root)
        }
        record.copyName = record.copyDigest.map { ManifestCopy.name(of: record.name, $0) }
        record.copiedAt = SystemClock.now()
    }
}

/// The last good copy of a manifest: a file in `.mirror/manifests/`.
///
/// A copy of another text has another name. So the previous copy and its row survive a crash
/// between the write of a copy and of its row. The sweep after the next write removes a copy that
/// no row names.
struct ManifestCopy: Sendable {
    let record: ManifestRecord
    /// The open copy; its bytes have the digest in the row.
    let file: Descriptor

    private static let folder = ".mirror/manifests"

    /// Opens the copy that a row names. Returns nil if it is missing or its bytes have changed.
    init?(of record: ManifestRecord, in root: RootDirectory?) {
        guard let root, let name = record.copyName, let digest = record.copyDigest,
            let file = try? root.openFile(ManifestCopy.folder + "/" + name),
            let read = try? FileDigests.compute(file, algorithms: [.sha256], path: name),
            read.first == digest
        else { return nil }
        self.record = record
        self.file = file
    }

    /// Whether the copy that a row names exists; its bytes are not checked.
    static func isThere(_ record: ManifestRecord, in root: RootDirectory) -> Bool {
        record.copyName.map { isThere($0, in: root) } ?? false
    }

    /// Whether a copy with this name exists; its bytes are not checked.
    static func isThere(_ name: String, in root: RootDirectory) -> Bool {
        (try? root.openFile(folder + "/" + name)) != nil
    }

    /// The version for a conditional request. Returns nil if the copy did not come from a server.
    var version: LocalVersion? {
        guard let provenance = record.provenance, let digest = record.copyDigest else { return nil }
        return LocalVersion(
            provenance: provenance, validators: record.validators, size: 0, sha256: digest)
    }

    /// The name of the copy of a manifest whose text has this digest.
    static func name(of manifest: String, _ digest: Digest) -> String {
        let owner = ByteHasher.digest(.sha256, of: Array(manifest.utf8))
        return "\(owner.hex.prefix(16)).\(digest.hex.prefix(32)).manifest"
    }

    /// Writes a manifest's text to a new file and flushes it; returns the digest of the text.
    static func write(
        _ text: ManifestText, of manifest: String, in root: RootDirectory
    ) throws(MirrorError) -> Digest {
        do throws(Errno) {
            let folder = try root.makeFolder(ManifestCopy.folder)
            let hidden = "." + randomHex(16)
            let path = ManifestCopy.folder + "/" + hidden
            let file = Descriptor(
                owning: try retrying("openat", path) {
                    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
                    // A manifest may hold a token, and its file may be readable by its owner only.
                    return linux_openat(folder.number, hidden, flags, 0o600)
                })
            do throws(Errno) {
                try fill(file, with: text, path: path)
                guard let digest = try digest(of: file, path: path) else {
                    throw Errno(number: EIO, call: "read", path: path)
                }
                let name = name(of: manifest, digest)
                try file.flushBytes(path: path)
                try retryingLibc("renameat", path) {
                    renameat(folder.number, hidden, folder.number, name)
                }
                try folder.flush(path: ManifestCopy.folder)
                return digest
            } catch {
                unlinkat(folder.number, hidden, 0)
                throw error
            }
        } catch { throw MirrorError(error) }
    }

    /// The sha256 of an open file.
    static func digest(of file: Descriptor, path: String) throws(Errno) -> Digest? {
        try FileDigests.compute(file, algorithms: [.sha256], path: path)?.first
    }

    /// How long a copy is kept that only another shard may need, in seconds.
    private static let sharedLifetime: Int64 = 30 * 86400

    /// Removes the copies that no row names. A leftover copy only takes up disk space.
    ///
    /// The shards of a root share the copies, but each knows only its own rows. So a shard removes
    /// only old ones; without its copy, another one would request its manifest again.
    static func sweep(_ root: RootDirectory, keeping records: [ManifestRecord]) {
        guard let folder = try? root.openFolder(ManifestCopy.folder),
            let names = try? folder.names(path: ManifestCopy.folder)
        else { return }
        let known = Set(records.compactMap(\.copyName))
        let limit = SystemClock.now().advanced(bySeconds: -sharedLifetime)
        for name in names where !known.contains(name) {
            if !root.shard.isWhole {
                let status = try? FileStatus(folder: folder.number, name: name, path: name)
                guard let status, status.stamp.modified < limit.milliseconds * 1_000_000 else {
                    continue
                }
            }
            unlinkat(folder.number, name, 0)
        }
    }

    private static func fill(
        _ file: Descriptor, with text: ManifestText, path: String
    ) throws(Errno) {
        switch text {
        case .memory(let bytes): try file.write(bytes, at: 0, path: path)
        case .file(let part): try copy(from: part.descriptor, to: file, path: path)
        case .open(let source): try copy(from: source.number, to: file, path: path)
        }
    }

    private static func copy(
        from number: Int32, to file: Descriptor, path: String
    ) throws(Errno) {
        let origin = Descriptor(owning: try retrying("dup", path) { dup(number) })
        try origin.copy(to: file, path: path)
    }
}
