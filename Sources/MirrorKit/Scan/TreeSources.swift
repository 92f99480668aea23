/// Files of the tree whose bytes steps need under other names.
struct TreeSources {
    /// Files with the bytes of a wanted pin: unchanged since mirror put them there, or read by this
    /// scan.
    private var files: [Digest: (target: Target, size: Int64)] = [:]
    /// Orphans by the digests of their bytes.
    private var orphansByDigest: [Digest: IndexRecord] = [:]
    /// Orphans that have a strong validator, by their source.
    private var orphansBySource: [SourceKey: IndexRecord] = [:]

    /// Searches the index and a scan's orphans for the bytes that situations need.
    ///
    /// Throws `MirrorError`.
    ///
    /// - Parameter findings: the findings of the scan, which has read each file that a step adopts.
    ///   A file whose row is forgotten is no source.
    init(
        for situations: some Sequence<Situation>, in index: Index, root: RootDirectory?,
        _ findings: ScanFindings
    ) throws {
        try addFiles(
            with: situations.lazy.compactMap(\.resource.pin), in: index, root: root, findings)
        try addOrphans(findings.orphans, for: situations, in: index)
    }

    private mutating func addFiles(
        with pins: some Sequence<Digest>, in index: Index, root: RootDirectory?,
        _ findings: ScanFindings
    ) throws {
        let forgotten = Set(findings.forgotten)
        var cursor = try index.projectionCursor(from: "")
        // The pins are collected only if there is a row to compare, because there may be a million
        // pins.
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
                guard case .file(let stamp) = try scan?.look(at: record.target) ?? .absent
                else { continue }
                if stamp == record.stamp || TreeSources.adopts(record, stamp, findings.steps) {
                    files[digest] = (record.target, record.stamp.size)
                }
            }
        } while try cursor.next()
    }

    /// Whether only a file's stamp changed: the scan has read the file, and its bytes are those of
    /// its row.
    private static func adopts(
        _ record: IndexRecord, _ stamp: FileStamp, _ steps: StepList
    ) -> Bool {
        guard let position = steps.position(of: record.target) else { return false }
        let step = steps[position]
        return step.means == .adoption(sha256: record.sha256)
            && step.existing == .ours(stamp, sha256: record.sha256)
    }

    private mutating func addOrphans(
        _ orphans: OrphanTable, for situations: some Sequence<Situation>, in index: Index
    ) throws {
        if orphans.isEmpty { return }
        let digests = SortedHashes(situations.lazy.compactMap(\.resource.pin?.start))
        let sources = SortedHashes(situations.lazy.flatMap(\.sources).map(OrphanTable.hash))
        for position in orphans.indices
        where orphans.mayHave(at: position, digests: digests, sources: sources) {
            guard var orphan = try index.record(for: orphans.target(at: position)) else { continue }
            orphan.stamp = orphans.stamp(at: position)
            orphansByDigest[orphan.sha256] = orphan
            if let other = orphan.otherDigest { orphansByDigest[other] = orphan }
            if let source = orphan.provenance?.source, orphan.validators.strong != nil {
                orphansBySource[source] = orphan
            }
        }
    }

    /// Whether the tree has no bytes that the situations need.
    var isEmpty: Bool { files.isEmpty && orphansByDigest.isEmpty }

    /// A target whose file has the pinned bytes of a resource.
    ///
    /// Returns nil if there is none, or if the resource declares another size.
    func target(for resource: Resource) -> Target? {
        guard let pin = resource.pin, let file = files[pin],
            resource.size ?? file.size == file.size
        else { return nil }
        return file.target
    }

    /// An orphan of the same manifest that can be moved to a target without a file.
    ///
    /// The orphan must have the pinned bytes. If the resource has no pin, the orphan must be from
    /// one of its sources, with a strong validator. Returns nil if there is no such orphan.
    func orphan(for situation: Situation) -> IndexRecord? {
        guard case .absent = situation.file else { return nil }
        let resource = situation.resource
        let candidate =
            resource.pin.map { orphansByDigest[$0] }
            ?? situation.sources.lazy.compactMap { orphansBySource[$0] }.first
        guard let candidate, candidate.owners.contains(situation.owner),
            resource.size ?? candidate.stamp.size == candidate.stamp.size
        else { return nil }
        return candidate
    }
}

// MARK: What a scan does with them

extension ScanView {
    /// Decides again on steps that would fetch bytes which the tree may have under other names.
    ///
    /// Throws `MirrorError`.
    func useTree(for findings: inout ScanFindings) throws {
        guard let index, !findings.searching.isEmpty else { return }
        let sources = try TreeSources(
            for: situations(of: findings), in: index, root: root, findings)
        if sources.isEmpty { return }
        for search in findings.searching {
            let position = Int(search.step)
            var situation = situation(of: search.situation, step: position, in: findings)
            // A provisional name never becomes a file: only a response gives the file's name.
            let resource = situation.resource
            if !resource.target.isProvisional(for: resource.primary.url) {
                situation.localSource = sources.target(for: resource)
                situation.orphan = sources.orphan(for: situation)
            }
            guard situation.localSource != nil || situation.orphan != nil else { continue }
            let decision = reconciler.step(for: situation, now: now)
            var step = findings.steps[position]
            step.kind = decision.kind
            step.reason = decision.reason
            step.means = decision.means
            if let orphan = situation.orphan, step.rowTarget == orphan.target,
                resource.pin == nil
            {
                findings.orphanBytes[orphan.target] = orphan.sha256
            }
            if step.size == nil { step.size = situation.orphan?.stamp.size }
            findings.steps.replace(at: position, with: step)
        }
        shareOrphans(&findings)
    }

    private func situations(of findings: ScanFindings) -> some Sequence<Situation> {
        findings.searching.lazy.map {
            situation(of: $0.situation, step: Int($0.step), in: findings)
        }
    }

    /// The situation that a step was decided from. For a plain fetch, the situation is made again.
    private func situation(of number: Int32, step: Int, in findings: ScanFindings) -> Situation {
        if let known = findings.situation(number) { return known }
        let step = findings.steps[step]
        return situation(
            of: Wanted.Reference(
                manifest: Int32(step.manifest), resource: Int32(step.resource ?? 0)))
    }

    /// Replaces moves by copies if several steps want the bytes of one orphan.
    ///
    /// An orphan can be moved only once.
    private func shareOrphans(_ findings: inout ScanFindings) {
        var orphanSources: [Target: [Int]] = [:]
        for position in findings.searching.lazy.map({ Int($0.step) }) {
            if case .move(let orphan) = findings.steps[position].means {
                orphanSources[orphan, default: []].append(position)
            }
        }
        for (orphan, positions) in orphanSources where positions.count > 1 {
            for position in positions {
                var step = findings.steps[position]
                step.means = .copy(of: orphan)
                findings.steps.replace(at: position, with: step)
            }
        }
    }
}
