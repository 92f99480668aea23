public import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// The files of the tree: look up or read one, list all, verify all.
extension MirrorSession {
    /// The facts about a target; nil if the index does not know it.
    ///
    /// The file is looked at and not read: `state` is `changed` if its stamp is not the recorded
    /// one. Throws `MirrorError` with `inputOutput` or `indexNewer`.
    public func lookup(_ target: Target) async throws -> StoredFile? {
        try await engine.look { view in
            guard let record = try view.index?.record(for: target), let root = view.root
            else { return nil }
            var scan = StatCursor(root)
            return StoredFile(record, file: try scan.look(at: target))
        }
    }

    /// The first targets that begin with a text, in the order of their paths' bytes.
    ///
    /// They are those of files that the index knows, and of files that were left out for room. Throws
    /// `MirrorError` if the index cannot be read.
    public func targets(beginningWith text: String, limit: Int) async throws -> [Target] {
        try await engine.look { view in
            try view.index?.targets(beginningWith: text, limit: limit) ?? []
        }
    }

    /// The absolute path of a target.
    public nonisolated func path(of target: Target) -> String { root + "/" + target.path }

    /// Passes a file's path to the body; no session of this process replaces, moves or removes the file
    /// while the body runs.
    ///
    /// A promotion that waits for the file goes before readers that come later. A run that the body asks
    /// for, or a task that it begins, does not wait for the body: where that run would change the file,
    /// the resource has failed, with `locked`. If this session holds the root's lock, the use is noted
    /// for eviction. Throws `MirrorError` with `notThere` where no file is, and with `cancelled` if the
    /// task is cancelled while it waits.
    public func withFile<Value: Sendable>(
        _ target: Target, isolation: isolated (any Actor)? = #isolation,
        _ body: (String) async throws -> Value
    ) async throws -> Value {
        guard let root = try await engine.rootIfThere() else { throw MirrorError.notThere(target) }
        let lease = try await FileLeases.of(root).take(target)
        defer { lease.end() }
        let file = try await Offload.run {
            var scan = StatCursor(root)
            return try scan.look(at: target)
        }
        guard case .file = file else { throw MirrorError.notThere(target) }
        // A use that is not noted may cost a request later, and nothing now.
        if let engine = await engine.current() {
            try? engine.index.noteUse(of: target, at: SystemClock.now())
        }
        return try await FileLease.$held.withValue(FileLease.held + [lease]) {
            // A closure runs where its caller does only if it captures the parameter (SE-0420).
            _ = isolation
            return try await body(path(of: target))
        }
    }

    /// The files in the tree, and those that the manifests want, in the order of the paths.
    public func status(of manifests: [Manifest]) async throws -> [StoredFile] {
        let files = Mutex<[StoredFile]>([])
        try await forEachFile(of: manifests) { file in files.withLock { $0.append(file) } }
        return files.withLock { $0 }
    }

    /// Passes the files that `status` lists to the body one by one; memory does not grow with their
    /// number.
    ///
    /// With tags, the walk has only files of resources with one of them. The body is called on a
    /// thread of the session, never by two threads at once. An error that it throws ends the walk.
    public func forEachFile(
        of manifests: [Manifest], only tags: Set<String> = [],
        _ body: @escaping @Sendable (StoredFile) throws -> Void
    ) async throws {
        try await engine.look { view in
            var inventory = try Inventory(
                view: view, manifests: manifests, only: tags, now: SystemClock.now())
            try inventory.files(body)
        }
    }

    /// Reads every file that the index knows or a manifest wants, and reports differences.
    public func verify(_ manifests: [Manifest]) async throws -> VerifyReport {
        let (root, meter) = (root, ActivityMeter.current)
        return try await engine.scan { view, isCancelled in
            var check = try IntegrityCheck(
                view: view, manifests: manifests, meter: meter, isCancelled: isCancelled)
            return try check.report(root: root)
        }
    }
}

extension MirrorError {
    /// The error for a file that is to be read and is not there.
    fileprivate static func notThere(_ target: Target) -> MirrorError {
        MirrorError(
            .notThere, "\(target): no file is there.", target: target, remedy: Remedy(.syncFirst))
    }
}

extension StoredFile {
    /// The facts from a row and a look at the file together.
    init(_ record: IndexRecord, file: LocalFile) {
        let state: State
        switch file {
        case .absent: state = .missing
        case .other: state = .obstructed
        case .file(let stamp): state = stamp == record.stamp ? .intact : .changed
        }
        self.init(target: record.target, state: state)
        owners = record.owners
        if case .file(let stamp) = file { size = stamp.size }
        sha256 = record.sha256
        verified = record.verified
        source = record.provenance?.source.description
        if source != nil { validator = record.validators.strength }
        confirmedAt = record.confirmedAt
    }
}
