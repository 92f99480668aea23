internal import MirrorManifests
public import MirrorModel
internal import MirrorStore
internal import MirrorSystem

extension MirrorSession {
    /// Reads manifests; if none is given, those that this root remembers.
    ///
    /// A manifest with a URL is requested conditionally. If the network fails, its last good copy
    /// is used, with a notice. The same holds for the copy of a file that is gone. Throws
    /// `ManifestRefusal`, or `MirrorError` with `manifestUnreadable` or `usage`.
    ///
    /// - Parameters:
    ///   - fresh: URLs that are not asked for, because their copies are known to be fresh.
    ///   - hint: what is known of sources that are lists of other programs; it is remembered once
    ///     their plan has been executed.
    public func loadManifests(
        _ sources: [ManifestSource], isOffline: Bool = false, fresh: Set<ManifestSource> = [],
        hint: ListHint = ListHint()
    ) async throws -> LoadedManifests {
        if sources.isEmpty {
            return try await reading { view in
                let known = try ManifestMemory.all(in: view)
                guard !known.isEmpty else { throw MirrorError.noManifest(root) }
                return try await load(known, view, isOffline, passesOverLost: false)
            }
        }
        // Only manifests with a URL, and remembered ones, have rows in the index. Opening the index
        // takes longer than reading a short manifest.
        if sources.allSatisfy(\.isLocal) {
            do {
                return try await load(
                    sources, TreeView(root: nil, index: nil), isOffline, fresh, hint)
            } catch let refusal as ManifestRefusal {
                // The root may remember the hint that a list was read with.
                guard hint.isEmpty, !sources.contains(.standardInput) else { throw refusal }
            } catch let error as MirrorError {
                // The copy of a file may be used, but bytes from a pipe come only once.
                guard error.code == .manifestUnreadable, !sources.contains(.standardInput)
                else { throw error }
            }
        }
        return try await reading { view in
            try await load(sources, view, isOffline, fresh, hint)
        }
    }

    /// Reads the manifests that this root remembers; it is no error if there are none.
    ///
    /// A manifest without a readable file or copy is skipped, with a notice. Throws
    /// `ManifestRefusal`, or `MirrorError`.
    public func loadRememberedManifests(isOffline: Bool = false) async throws -> LoadedManifests {
        try await reading { view in
            try await load(
                try ManifestMemory.all(in: view), view, isOffline, passesOverLost: true)
        }
    }

    private func load(
        _ sources: [ManifestSource], _ view: TreeView, _ isOffline: Bool,
        _ fresh: Set<ManifestSource>, _ hint: ListHint
    ) async throws -> LoadedManifests {
        let loader = ManifestLoader(
            view: view, configuration: configuration, isOffline: isOffline, fresh: fresh,
            hint: hint)
        var result = LoadedManifests()
        for source in sources { add(try await loader.load(source), to: &result) }
        return result
    }

    private func load(
        _ memories: [ManifestMemory], _ view: TreeView, _ isOffline: Bool, passesOverLost: Bool
    ) async throws -> LoadedManifests {
        let loader = ManifestLoader(
            view: view, configuration: configuration, isOffline: isOffline)
        var result = LoadedManifests()
        for memory in memories {
            do { add(try await loader.load(memory), to: &result) } catch let error as MirrorError {
                guard passesOverLost, error.code == .manifestUnreadable else { throw error }
                result.notices.append(Notice(error.message, remedy: error.remedy))
            }
        }
        return result
    }

    private func add(_ loaded: ManifestLoader.Loaded, to result: inout LoadedManifests) {
        result.manifests.append(loaded.decoded.manifest)
        result.decoded.append(loaded.decoded)
        result.freshUntil.append(loaded.freshUntil)
        if let notice = loaded.notice { result.notices.append(notice) }
        if loaded.decoded.list != nil {
            result.notices += loaded.decoded.warnings.map { Notice("\($0.file): \($0.message).") }
        }
        if let memory = loaded.memory { fetchedManifests[memory.record.name] = memory }
    }

    /// Reads one manifest by itself: without a root, and without remembering it.
    ///
    /// Throws `ManifestRefusal`, or `MirrorError` with `manifestUnreadable`.
    ///
    /// - Parameter hint: what is known of it if it is a list of another program.
    public static func read(
        _ source: ManifestSource, configuration: Configuration = Configuration(),
        hint: ListHint = ListHint()
    ) async throws -> DecodedManifest {
        let loader = ManifestLoader(
            view: TreeView(root: nil, index: nil), configuration: configuration, isOffline: false,
            hint: hint)
        return try await loader.load(source).decoded
    }

    /// The manifests that this root remembers, in the order of their names.
    ///
    /// The list is empty if none was synced yet.
    public func rememberedManifests() async throws -> [RememberedManifest] {
        try await reading { view in
            try await Offload.run { try ManifestMemory.all(in: view).map(RememberedManifest.init) }
        }
    }

    /// The sources from which the manifests that this root remembers can be read.
    ///
    /// Throws `MirrorError` with `usage` if the root remembers none.
    public func rememberedSources() async throws -> [ManifestSource] {
        try await reading { view in
            let known = try ManifestMemory.all(in: view)
            guard !known.isEmpty else { throw MirrorError.noManifest(root) }
            return known.map(\.source)
        }
    }

    /// The hints of the remembered manifests that are lists, by their sources.
    ///
    /// Throws `MirrorError` if the index cannot be read.
    public func rememberedHints() async throws -> [ManifestSource: ListHint] {
        try await reading { view in
            try ManifestMemory.all(in: view).reduce(into: [:]) { hints, memory in
                if !memory.record.hint.isEmpty { hints[memory.source] = memory.record.hint }
            }
        }
    }
}

extension ManifestMemory {
    /// Where the manifest can be read.
    fileprivate var source: ManifestSource {
        if case .url(let key) = record.place, !key.text.utf8.contains(UInt8(ascii: "?")),
            let url = try? SourceURL(key.text, relativeTo: nil)
        {
            return .url(url)
        }
        return .path(found ?? place)
    }
}

// MARK: Remembering

extension MirrorSession {
    /// Records the manifests of an executed plan in the index.
    ///
    /// A run that finds nothing to do leaves the index as it is, unless a manifest has another
    /// place or another text.
    ///
    /// - Parameters:
    ///   - known: what was read before the run; somebody may have read another text since.
    ///   - copies: the copies that `firstCopies` took.
    func remember(
        _ known: [FetchedManifest], of plan: Plan, in engine: Engine,
        copies: [String: ManifestCopy.Taken]
    ) async throws {
        guard !known.isEmpty else { return }
        let hasDoneSomething = !plan.isEmpty
        try await Offload.run {
            let root = LocalManifest.canonical(folder: engine.root.path)
            let rows = try engine.index.manifests()
            var changed: [ManifestRecord] = []
            for manifest in known {
                let row = rows.first { $0.name == manifest.record.name }
                let record = try manifest.record(
                    after: row, in: engine.root, at: root, isSynced: hasDoneSomething,
                    copy: copies[manifest.record.name])
                if let record { changed.append(record) }
            }
            try engine.index.changes.renameManifests(
                FormerNames.of(plan.manifests, among: rows, root: root)
                    .map { (old: $0.key, new: plan.manifests[$0.value].owner) })
            guard !changed.isEmpty else { return }
            for record in changed { try engine.index.changes.put(record) }
            let names = Set(rows.compactMap(\.copyName))
            guard changed.contains(where: { $0.copyName.map(names.contains) == false }) else {
                return
            }
            // The row that names the previous copy must be gone before that copy is.
            do throws(Errno) { try engine.index.makeDurable() } catch { throw MirrorError(error) }
            ManifestCopy.sweep(engine.root, keeping: try engine.index.manifests())
        }
    }

    /// Takes the copies of manifests that the index does not know yet, by their names, while their plan
    /// is executed: to copy and flush a long manifest takes as long as some hundred files.
    ///
    /// A copy that no row names in the end is removed by a later run (`ManifestCopy.sweep`). One that
    /// cannot be taken now is taken afterwards.
    func firstCopies(
        of known: [FetchedManifest], for plan: Plan, in engine: Engine
    ) async -> [String: ManifestCopy.Taken] {
        if known.isEmpty || plan.isEmpty { return [:] }
        let copies = try? await Offload.run {
            let names = Set(try engine.index.manifests().map(\.name))
            return known.reduce(into: [String: ManifestCopy.Taken]()) { copies, manifest in
                let name = manifest.record.name
                guard !names.contains(name), let text = manifest.text, manifest.isAsRead else {
                    return
                }
                copies[name] = try? ManifestCopy.write(text, of: name, in: engine.root)
            }
        }
        return copies ?? [:]
    }

    /// What this session has read of the plan's manifests.
    func fetchedManifests(of plan: Plan) -> [FetchedManifest] {
        plan.manifests.compactMap { manifest in
            guard let memory = fetchedManifests[manifest.owner],
                memory.whereabouts == manifest.whereabouts
            else { return nil }
            return memory
        }
    }
}

extension FetchedManifest {
    /// The `whereabouts` of the manifest that these facts belong to.
    var whereabouts: Manifest.Whereabouts {
        if case .url(let key) = record.place { return .url(key) }
        return .file(path: path ?? "")
    }

    /// The row to write, after its copy; nil if the existing row says the same.
    func record(
        after row: ManifestRecord?, in root: RootDirectory, at rootPath: String, isSynced: Bool,
        copy: ManifestCopy.Taken?
    ) throws(MirrorError) -> ManifestRecord? {
        var record = record
        record.place = path.map { ManifestPlace(path: $0, root: rootPath) } ?? record.place
        record.syncedAt = SystemClock.now()
        let hasCopy = row.map { ManifestCopy.isThere($0, in: root) } ?? false
        let isSame = hasCopy && row?.place == record.place && row?.stamp == record.stamp
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
        _ taken: ManifestCopy.Taken?
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
        var copy = taken.flatMap { ManifestCopy.isThere($0.name, in: root) ? $0 : nil }
        if copy == nil { copy = try ManifestCopy.write(text, of: record.name, in: root) }
        guard let copy else { return }
        (record.copyName, record.copyDigest) = (copy.name, copy.digest)
        record.copiedAt = SystemClock.now()
    }
}

extension RememberedManifest {
    init(_ memory: ManifestMemory) {
        let record = memory.record
        self.init(name: record.name, place: memory.place, kind: .path)
        if case .url = record.place { kind = .url } else { isThere = memory.found != nil }
        resources = record.resources
        copiedAt = record.copyName == nil ? nil : record.copiedAt
        syncedAt = record.syncedAt
    }
}
