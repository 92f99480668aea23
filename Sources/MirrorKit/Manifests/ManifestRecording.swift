internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// Records the manifests of an executed plan in the index, with their last good copies.
struct ManifestRecording: Sendable {
    /// The manifests as read before the run; another process may have read another text since.
    private let known: [FetchedManifest]
    private let plan: Plan
    private let engine: Engine

    init(_ known: [FetchedManifest], of plan: Plan, in engine: Engine) {
        (self.known, self.plan, self.engine) = (known, plan, engine)
    }

    /// Remembers the manifests that the index does not know yet while their plan is executed, and returns
    /// their copies by their names.
    ///
    /// Whatever ends the run, the next one needs not be told about them; and to copy and flush a long
    /// manifest takes as long as some hundred files. A copy that no row names in the end is removed
    /// by a later run (`ManifestCopy.sweep`). What fails here is done afterwards.
    func rememberNew() async -> [String: Digest] {
        if known.isEmpty || plan.isEmpty { return [:] }
        let copies = try? await Offload.run {
            let rows = try engine.index.manifests()
            let root = resolvedPath(engine.root.path) ?? engine.root.path
            let names = Set(rows.map(\.name))
            // What a former name owns goes to the new one in the end.
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

    /// Writes the row of a manifest whose plan is being executed.
    private func remember(
        _ manifest: FetchedManifest, _ copy: Digest, at root: String
    ) throws {
        var record = try manifest.record(
            after: nil, in: engine.root, at: root, isSynced: true, copy: copy)
        record?.syncedAt = nil
        if let record { try engine.index.put([record]) }
    }

    /// Writes the rows of the manifests.
    ///
    /// A run that finds nothing to do leaves the index as it is, unless a manifest has another
    /// place or another text.
    ///
    /// - Parameter copies: those that `rememberNew` took.
    func write(copies: [String: Digest]) async throws {
        guard !known.isEmpty else { return }
        try await Offload.run {
            let root = resolvedPath(engine.root.path) ?? engine.root.path
            let rows = try engine.index.manifests()
            var changed: [ManifestRecord] = []
            for manifest in known {
                let row = rows.first { $0.name == manifest.record.name }
                let record = try manifest.record(
                    after: row, in: engine.root, at: root, isSynced: !plan.isEmpty,
                    copy: copies[manifest.record.name])
                if let record { changed.append(record) }
            }
            try engine.index.renameManifests(
                OwnerBook.formerNames(of: plan.manifests, among: rows, root: root)
                    .map { (old: $0.key, new: plan.manifests[$0.value].owner) })
            guard !changed.isEmpty else { return }
            let names = Set(rows.compactMap(\.copyName))
            let hasNewCopy = changed.contains { $0.copyName.map(names.contains) == false }
            // The row that names the previous copy must be gone before that copy is.
            try engine.index.put(changed, durably: hasNewCopy)
            if hasNewCopy {
                ManifestCopy.sweep(engine.root, keeping: try engine.index.manifests())
            }
        }
    }
}

/// The facts about a manifest that a session has read, for the index to remember.
struct FetchedManifest: Sendable {
    var record: ManifestRecord
    /// The path that it was read from; nil for a URL.
    var path: String?
    /// The text that becomes the last good copy; nil if the copy is current.
    var text: ManifestText?

    /// The `whereabouts` of the manifest that these facts belong to.
    var whereabouts: Manifest.Whereabouts {
        if case .url(let key) = record.place { return .url(key) }
        return .file(path: path ?? "")
    }

    /// The row to write, after its copy; nil if the existing row says the same.
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
        if path != nil, isSame, !isSynced, row?.hint == record.hint { return nil }
        if path == nil, text == nil {
            // The server confirmed the copy that the row named.
            record.copiedAt = SystemClock.now()
        } else if let row, isSame, path != nil {
            (record.copyName, record.copyDigest) = (row.copyName, row.copyDigest)
            record.copiedAt = row.copiedAt
        } else {
            try takeCopy(into: &record, after: hasCopy ? row : nil, root, copy)
        }
        return record
    }

    /// Whether its file has not been written to since it was read.
    var isAsRead: Bool {
        guard case .open(let file)? = text else { return true }
        return (try? file.status(path: path ?? ""))?.stamp == record.stamp
    }

    /// Takes a copy of the text, unless the previous copy has the same text.
    private func takeCopy(
        into record: inout ManifestRecord, after row: ManifestRecord?, _ root: RootDirectory,
        _ taken: Digest?
    ) throws(MirrorError) {
        guard let text else { return }
        if case .open(let file) = text {
            guard isAsRead else {
                // The file was written to since it was read, so the next run takes the copy.
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
/// A copy of another text has another name. So a crash between the write of a copy and the write of
/// its row leaves the previous copy, with the row that names it. A copy that no row names is
/// removed after the next write.
struct ManifestCopy: Sendable {
    let record: ManifestRecord
    /// The copy, open for reading; its bytes have the recorded digest.
    let file: Descriptor

    private static let folder = ".mirror/manifests"

    /// Opens the copy that a row names; nil if it is missing, or differs from what was written.
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

    /// The version for a conditional request.
    var version: LocalVersion? {
        guard let provenance = record.provenance, let digest = record.copyDigest else { return nil }
        return LocalVersion(
            provenance: provenance, validators: record.validators, size: 0, sha256: digest)
    }

    /// The name of a manifest's copy with a digest.
    static func name(of manifest: String, _ digest: Digest) -> String {
        let owner = ByteHasher.digest(.sha256, of: Array(manifest.utf8))
        return "\(owner.hex.prefix(16)).\(digest.hex.prefix(32)).manifest"
    }

    /// Writes a manifest's text to a new file and flushes it; returns its digest.
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

    /// Removes the copies that no row names. A leftover copy only takes up disk space.
    static func sweep(_ root: RootDirectory, keeping records: [ManifestRecord]) {
        guard let folder = try? root.openFolder(ManifestCopy.folder),
            let names = try? folder.names(path: ManifestCopy.folder)
        else { return }
        let known = Set(records.compactMap(\.copyName))
        for name in names where !known.contains(name) { unlinkat(folder.number, name, 0) }
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
