internal import MirrorModel

/// Files, unchanged since mirror put them there, that have the bytes of a wanted pin.
struct Donors {
    private var targets: [Digest: Target] = [:]

    /// Looks through the index for the pins of these situations.
    init(
        for situations: [Situation], in index: Index, scan: inout TreeScan?
    ) throws(MirrorError) {
        let pins = Set(situations.compactMap(\.resource.pin))
        guard !pins.isEmpty else { return }
        var cursor = try index.cursor()
        while let record = try cursor.nextRecord() {
            for digest in [record.sha256, record.otherDigest].compactMap({ $0 })
            where pins.contains(digest) && targets[digest] == nil {
                if case .file(record.stamp, _) = try scan?.look(at: record.target) ?? .absent {
                    targets[digest] = record.target
                }
            }
        }
    }

    /// A target with bytes of this digest.
    func target(with digest: Digest) -> Target? { targets[digest] }
}

/// Finds the orphan whose bytes a wanted file can take over.
struct OrphanHeirs {
    private var byDigest: [Digest: IndexRecord] = [:]
    private var bySource: [SourceKey: IndexRecord] = [:]

    init(_ orphans: [IndexRecord]) {
        for orphan in orphans {
            byDigest[orphan.sha256] = orphan
            if let other = orphan.otherDigest { byDigest[other] = orphan }
            if let source = orphan.provenance?.source, orphan.validators.strong != nil {
                bySource[source] = orphan
            }
        }
    }

    /// An orphan of the same manifest that has the pinned bytes, or, where nothing is pinned, came
    /// from the same source with a strong validator.
    func orphan(for situation: Situation) -> IndexRecord? {
        guard case .absent = situation.file else { return nil }
        let resource = situation.resource
        let candidate =
            resource.pin.map { byDigest[$0] }
            ?? situation.sources.lazy.compactMap { bySource[$0] }.first
        guard let candidate, candidate.owner == situation.owner,
            resource.size ?? candidate.stamp.size == candidate.stamp.size
        else { return nil }
        return candidate
    }
}
