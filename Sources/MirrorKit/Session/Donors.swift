internal import MirrorModel

/// Files, unchanged since mirror put them there, that have the bytes of a wanted pin.
struct Donors {
    private var targets: [Digest: Target] = [:]

    /// Looks through the index for pins. Throws `MirrorError`.
    init(for pins: some Sequence<Digest>, in index: Index, root: RootDirectory?) throws {
        var cursor = try index.briefCursor(from: "")
        // The pins are gathered when there is a row to hold against them: there may be a million.
        guard try cursor.goOn() else { return }
        let starts = pins.map { $0.bytes.withUnsafeBytes(Donors.start) }.sorted()
        guard !starts.isEmpty else { return }
        var scan = root.map { TreeScan($0) }
        repeat {
            guard let row = cursor.row else { continue }
            let isLike = [row.sha256, row.otherDigest].contains { digest in
                digest.map { Donors.contains(starts, Donors.start(of: $0)) } ?? false
            }
            guard isLike else { continue }
            let record = try cursor.wholeRecord()
            for digest in [record.sha256, record.otherDigest].compactMap(\.self)
            where targets[digest] == nil {
                let start = digest.bytes.withUnsafeBytes(Donors.start)
                guard Donors.contains(starts, start) else { continue }
                if case .file(record.stamp, _) = try scan?.look(at: record.target) ?? .absent {
                    targets[digest] = record.target
                }
            }
        } while try cursor.goOn()
    }

    /// Whether no file has any of the pins.
    var isEmpty: Bool { targets.isEmpty }

    /// A target with bytes of this digest.
    func target(with digest: Digest) -> Target? { targets[digest] }

    /// The first eight bytes of a digest, which are enough to leave nearly all others out.
    private static func start(of digest: UnsafeRawBufferPointer) -> UInt64 {
        digest.count < 8 ? 0 : digest.loadUnaligned(as: UInt64.self)
    }

    private static func contains(_ starts: [UInt64], _ start: UInt64) -> Bool {
        var (low, high) = (0, starts.count)
        while low < high {
            let middle = (low + high) / 2
            if starts[middle] < start { low = middle + 1 } else { high = middle }
        }
        return low < starts.count && starts[low] == start
    }
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

    /// Whether there is no orphan.
    var isEmpty: Bool { byDigest.isEmpty }

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
