internal import Synchronization

/// Reads of the tree: look up or read one file, list all files, verify all files.
extension MirrorSession {
    /// The facts about a target. Returns nil if the index does not know the target.
    ///
    /// The call looks at the file and does not read it: `state` is `changed` if the stamp differs
    /// from the recorded one. Throws `MirrorError` with `inputOutput` or `indexNewer`.
    public func lookup(_ target: Target) async throws -> StoredFile? {
        try await engine.look { view in
            guard let record = try view.index?.record(for: target), let root = view.root
            else { return nil }
            var scan = StatCursor(root)
            return StoredFile(record, file: try scan.look(at: target))
        }
    }

    /// The first `limit` targets whose paths begin with a text, in the order of their paths' bytes.
    ///
    /// The targets are of files that the index knows, and of files that were left out for lack of
    /// space. A limit below 0 is 0. Throws `MirrorError` if the index cannot be read.
    public func targets(beginningWith text: String, limit: Int) async throws -> [Target] {
        let limit = max(0, limit)
        return try await engine.look { view in
            try view.index?.targets(beginningWith: text, limit: limit) ?? []
        }
    }

    /// The absolute path of a target.
    public nonisolated func path(of target: Target) -> String { root + "/" + target.path }

    /// Calls a closure with the path of a file, and keeps the file as it is during the call.
    ///
    /// No session of this process replaces, moves or removes the file while the closure runs. A
    /// promotion that waits for the file goes before readers that arrive later.
    ///
    /// A run that the closure starts does not wait for the closure. If that run would change the
    /// file, the file's resource fails with `locked`. The same holds for runs of tasks that the
    /// closure starts.
    ///
    /// If this session holds the root's lock, the use is noted for eviction. Throws `MirrorError`
    /// with `notThere` if there is no file. Throws `cancelled` if the task is cancelled while it
    /// waits.
    public func withFile<Value: Sendable>(
        _ target: Target, isolation: isolated (any Actor)? = #isolation,
        _ body: (String) async throws -> Value
    ) async throws -> Value {
        guard let root = try await engine.rootIfThere() else { throw MirrorError.notThere(target) }
        let lease = try await TargetLocks.of(root).read(target)
        defer { lease.end() }
        let file = try await Offload.run {
            var scan = StatCursor(root)
            return try scan.look(at: target)
        }
        guard case .file = file else { throw MirrorError.notThere(target) }
        // If the note fails, eviction may remove the file earlier; a later sync then fetches it
        // again.
        if let engine = await engine.current() {
            try? engine.index.noteUse(of: target, at: SystemClock.now())
        }
        return try await FileLease.$held.withValue(FileLease.held + [lease]) {
            // SE-0420: a closure runs on its caller's actor only if it captures the parameter.
            _ = isolation
            return try await body(path(of: target))
        }
    }

    /// The files in the tree and the files that the manifests want, in the order of their paths.
    public func status(of manifests: [Manifest]) async throws -> [StoredFile] {
        let files = Mutex<[StoredFile]>([])
        try await forEachFile(of: manifests) { file in files.withLock { $0.append(file) } }
        return files.withLock { $0 }
    }

    /// Calls a closure with each file that `status` lists; memory does not grow with their number.
    ///
    /// `only` and `skip` select files as in `PlanOptions`. The closure is called on a thread of the
    /// session, never on two threads at once. An error that the closure throws ends the walk.
    ///
    /// A file in doubt has the size of its row, but another time or inode, as in a copied root.
    ///
    /// - Parameter readsDoubtful: whether files in doubt are read, as a plan does. Otherwise each
    ///   of them is `changed`.
    public func forEachFile(
        of manifests: [Manifest], only: Set<String> = [], skip: Set<String> = [],
        readsDoubtful: Bool = true, _ body: @escaping @Sendable (StoredFile) throws -> Void
    ) async throws {
        let meter = readsDoubtful ? ActivityMeter.current : nil
        try await engine.scan { view, isCancelled in
            var inventory = try Inventory(
                view: view, manifests: manifests, Selection(only: only, skip: skip),
                now: SystemClock.now(), meter: meter,
                isCancelled: readsDoubtful ? isCancelled : nil)
            try inventory.files(body)
        }
    }

    /// Throws `MirrorError` with `usage` if none of the manifests wants a target.
    ///
    /// The error names the nearest target. Selections of manifests do not count.
    package func refuseUnwanted(_ targets: [Target], by manifests: [Manifest]) async throws {
        var options = PlanOptions()
        options.asked = Set(targets)
        try await engine.look { [options] view in
            try Wanted(manifests, options: options, of: view.shard, index: view.index)
                .refuseUnknownNames(options)
        }
    }

    /// Reads every file that the index knows or a manifest wants, and reports the differences.
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
    /// The error for a file that a caller wants to read and that does not exist.
    fileprivate static func notThere(_ target: Target) -> MirrorError {
        MirrorError(
            .notThere, "\(target): no file is there.", target: target, remedy: Remedy(.syncFirst))
    }
}

extension StoredFile {
    /// Combines the facts of a row with a look at the file.
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
