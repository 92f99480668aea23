internal import MirrorModel

/// Files that have the bytes of a wanted pin: unchanged since mirror put them there, or read just now.
struct LocalSources {
    private var files: [Digest: (target: Target, size: Int64)] = [:]

    /// Searches the index for files with the pins. Throws `MirrorError`.
    ///
    /// - Parameter findings: what is done about the wanted files: those to adopt were read. Rows to forget
    ///   are no sources.
    init(
        for pins: some Sequence<Digest>, in index: Index, root: RootDirectory?,
        _ findings: ScanFindings
    ) throws {
        let forgotten = Set(findings.forgotten)
        var cursor = try index.projectionCursor(from: "")
        // The pins are collected only if there is a row to compare: there may be a million pins.
        guard try cursor.next() else { return }
        let starts = SortedHashes(pins.lazy.map(\.start))
        guard !starts.isEmpty else { return }
        var scan = root.map { StatCursor($0) }
        repeat {
            guard let row = cursor.row else { continue }
            let isLike = [row.sha256, row.otherDigest].contains { digest in
                digest.map { starts.contains(Digest.start(of: $0)) } ?? false
            }
            guard isLike else { continue }
            let record = try cursor.wholeRecord()
            if forgotten.contains(record.target) { continue }
            for digest in [record.sha256, record.otherDigest].compactMap(\.self)
            where files[digest] == nil {
                guard starts.contains(digest.start) else { continue }
                guard case .file(let stamp, _) = try scan?.look(at: record.target) ?? .absent
                else { continue }
                if stamp == record.stamp || LocalSources.adopts(record, stamp, findings.steps) {
                    files[digest] = (record.target, record.stamp.size)
                }
            }
        } while try cursor.next()
    }

    /// Whether a file was touched only: its bytes, just read, are those of its row.
    private static func adopts(
        _ record: IndexRecord, _ stamp: FileStamp, _ steps: StepList
    ) -> Bool {
        guard let position = steps.position(of: record.target) else { return false }
        let step = steps[position]
        return step.means == .adoption(sha256: record.sha256)
            && step.existing == .ours(stamp, sha256: record.sha256)
    }

    /// Whether no file has any of the pins.
    var isEmpty: Bool { files.isEmpty }

    /// A target with the pinned bytes of a resource, if these have its size.
    func target(for resource: Resource) -> Target? {
        guard let pin = resource.pin, let file = files[pin],
            resource.size ?? file.size == file.size
        else { return nil }
        return file.target
    }
}

/// Finds the orphan whose bytes a wanted file can take over.
struct OrphanSources {
    private var byDigest: [Digest: IndexRecord] = [:]
    private var bySource: [SourceKey: IndexRecord] = [:]

    /// Finds the orphans that have the wanted bytes or sources of situations. Throws `MirrorError`.
    init(
        _ orphans: OrphanTable, for situations: some Sequence<Situation>, in index: Index
    ) throws {
        if orphans.isEmpty { return }
        let digests = SortedHashes(situations.lazy.compactMap(\.resource.pin?.start))
        let sources = SortedHashes(situations.lazy.flatMap(\.sources).map(OrphanTable.hash))
        for position in orphans.indices
        where orphans.mayHave(at: position, digests: digests, sources: sources) {
            guard var orphan = try index.record(for: orphans.target(at: position)) else { continue }
            orphan.stamp = orphans.stamp(at: position)
            byDigest[orphan.sha256] = orphan
            if let other = orphan.otherDigest { byDigest[other] = orphan }
            if let source = orphan.provenance?.source, orphan.validators.strong != nil {
                bySource[source] = orphan
            }
        }
    }

    /// Whether no orphan has wanted bytes or a wanted source.
    var isEmpty: Bool { byDigest.isEmpty }

    /// An orphan of the same manifest whose file can become an absent target.
    ///
    /// The orphan must have the pinned bytes. If nothing is pinned, it must come from the same
    /// source with a strong validator.
    func orphan(for situation: Situation) -> IndexRecord? {
        guard case .absent = situation.file else { return nil }
        let resource = situation.resource
        let candidate =
            resource.pin.map { byDigest[$0] }
            ?? situation.sources.lazy.compactMap { bySource[$0] }.first
        guard let candidate, candidate.owners.contains(situation.owner),
            resource.size ?? candidate.stamp.size == candidate.stamp.size
        else { return nil }
        return candidate
    }
}
