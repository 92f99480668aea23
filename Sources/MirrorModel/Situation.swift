/// Everything that decides the step of one wanted resource.
///
/// A situation is made from the manifest, the index, one look at the tree and nothing else; in
/// particular no server is asked.
public struct Situation: Sendable {
    /// What is wanted.
    public var resource: Resource
    /// Who wants it: the manifest's name, or what stands for it.
    public var owner: String
    /// The keys of the resource's sources, in their order.
    public var sources: [SourceKey]
    /// What the index knows of the target.
    public var record: IndexRecord?
    /// What is at the target.
    public var file: LocalFile = .absent
    /// Digests of the file, sha256 first, where it was read: because its stamp is not the
    /// record's, the index does not know it, or a digest of another algorithm is declared.
    public var digests: [Digest] = []
    /// The parts that the index knows for the target.
    public var parts: [PartRecord] = []
    /// Where in the tree the pinned bytes are, unchanged since mirror put them there.
    public var donor: Target?
    /// An unchanged orphan of the same manifest that has the bytes.
    public var orphan: IndexRecord?

    /// Takes what is wanted; the rest says that nothing is known and nothing is there.
    public init(resource: Resource, owner: String, sources: [SourceKey]) {
        self.resource = resource
        self.owner = owner
        self.sources = sources
    }
}

extension Situation {
    /// The file's bytes are those that mirror put there.
    var isIntact: Bool {
        guard let record, case .file(let stamp, _) = file else { return false }
        return digests.first.map { $0 == record.sha256 } ?? (stamp == record.stamp)
    }

    /// The file's bytes are those that mirror put there, and so is everything else about it.
    var isUntouched: Bool {
        guard let record, case .file(let stamp, _) = file else { return false }
        return isIntact && stamp == record.stamp && record.owner == owner
            && record.isExecutable == resource.isExecutable
    }

    /// The file was read, and its bytes are those that the manifest pins.
    var holdsPinnedBytes: Bool {
        guard let pin = resource.pin else { return false }
        return digests.contains(pin)
    }

    /// Why the recorded version is not the wanted one; nil when it is.
    var reasonRecordIsOutdated: Reason? {
        guard let record else { return nil }
        if let declared = resource.digests.first,
            let known = record.digest(of: declared.algorithm), known != declared
        {
            return .digestChanged(from: known, to: declared)
        }
        if let pin = resource.pin, record.digest(of: pin.algorithm) == nil {
            // The record has no digest of that algorithm: the file was read for it, or will be.
            guard let read = digests.first(where: { $0.algorithm == pin.algorithm }) else {
                return .digestChanged(from: record.sha256, to: pin)
            }
            if read != pin { return .digestChanged(from: read, to: pin) }
        }
        if let size = resource.size, size != record.stamp.size {
            return .sizeChanged(from: record.stamp.size, to: size)
        }
        guard resource.pin == nil else { return nil }
        guard let provenance = record.provenance else { return .sourceUnknown }
        return sources.contains(provenance.source)
            ? nil : sources.first.map { .sourceChanged(to: $0) }
    }

    /// The part that may be continued, the longest one; nil when none fits.
    var fittingPart: PartRecord? {
        guard resource.method == .get else { return nil }
        return parts.filter(fits).max { $0.trustedLength < $1.trustedLength }
    }

    private func fits(_ part: PartRecord) -> Bool {
        guard part.trustedLength > 0 else { return false }
        if let total = part.total, let size = resource.size, total != size { return false }
        switch part.identity {
        case .digest(let digest): return resource.digests.contains(digest)
        case .version(let provenance, _):
            return resource.pin == nil && sources.contains(provenance.source)
        case .anonymous: return false
        }
    }
}

extension IndexRecord {
    /// The digest of an algorithm that the bytes are known to have.
    public func digest(of algorithm: DigestAlgorithm) -> Digest? {
        if algorithm == .sha256 { return sha256 }
        return otherDigest.flatMap { $0.algorithm == algorithm ? $0 : nil }
    }

    /// The version for a conditional request; nil when no source vouched for it.
    public var localVersion: LocalVersion? {
        guard let provenance, validators.entityTag != nil || validators.lastModified != nil else {
            return nil
        }
        return LocalVersion(
            provenance: provenance, validators: validators, size: stamp.size, sha256: sha256)
    }
}

extension PartRecord {
    /// The greatest logged length in bytes; 0 when nothing was logged.
    public var trustedLength: Int64 { milestones.last?.length ?? 0 }
}
