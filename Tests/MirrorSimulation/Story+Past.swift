import MirrorTestSupport

@testable import MirrorKit

/// What an earlier run left of a story's wishes.
extension Story {
    /// What there is of a wish when the run begins.
    enum Past {
        case nothing
        /// A part of so many bytes, logged up to there and at one length before.
        case part(length: Int, version: Int, damage: Damage?, rangeBeyond: Range<Int>?)
        /// The whole file.
        case file(version: Int)
    }

    /// Which bytes of a part are not those that were logged.
    enum Damage: CaseIterable { case beforeFirstMilestone, afterFirstMilestone }

    /// A version that no source has any more.
    static let goneVersion = 50

    static func past(
        _ chance: Chance, of resource: SimulatedResource, isPinned: Bool
    ) -> Past {
        guard chance.oneIn(3) else { return .nothing }
        let version = chance.oneIn(3) ? goneVersion : 0
        let size = resource.size(of: version)
        guard size > 16, isPinned || chance.oneIn(2) else {
            return isPinned ? .nothing : .file(version: version)
        }
        let length = Int(chance.number(2...Int64(size) - 8))
        var rangeBeyond: Range<Int>?
        if chance.oneIn(3) {
            let start = Int(chance.number(Int64(length) + 1...Int64(size) - 4))
            rangeBeyond = start..<Int(chance.number(Int64(start) + 1...Int64(size)))
        }
        let damage = chance.oneIn(4) ? chance.pick(Damage.allCases) : nil
        return .part(length: length, version: version, damage: damage, rangeBeyond: rangeBeyond)
    }

    /// The row of a wish's part.
    func partRecord(of number: Int, for target: Target, _ resource: Resource) -> PartRecord? {
        let wish = wishes[number]
        guard case .part(let length, let version, _, let rangeBeyond) = wish.past else {
            return nil
        }
        let wanted = world.resources[wish.resource]
        let provenance = provenance(of: number, resource)
        let validators = validators(of: wanted, version)
        let identity: PartIdentity
        if wish.isPinned {
            identity = .digest(wanted.digest(of: 0))
        } else {
            guard let strong = validators.strong else { return nil }
            identity = .version(provenance, strong)
        }
        var record = PartRecord(
            name: "past\(number)", target: target, identity: identity,
            total: Int64(wanted.size(of: version)), provenance: provenance, validators: validators)
        let bytes = wanted.bytes(of: version)
        record.milestones = [length / 2, length].map { milestone(bytes[0..<$0]) }
        record.extents =
            rangeBeyond.map {
                [Extent(start: Int64($0.lowerBound), milestones: [milestone(bytes[$0])])]
            } ?? []
        return record
    }

    private func milestone(_ bytes: ArraySlice<UInt8>) -> Milestone {
        Milestone(
            length: Int64(bytes.count), sha256: ByteHasher.digest(.sha256, of: Array(bytes)))
    }

    /// What the disk holds of a wish's part.
    func partBytes(of number: Int) -> [UInt8]? {
        let wish = wishes[number]
        guard case .part(let length, let version, let damage, let rangeBeyond) = wish.past else {
            return nil
        }
        let bytes = world.resources[wish.resource].bytes(of: version)
        var held = [UInt8](repeating: 0, count: rangeBeyond?.upperBound ?? length)
        held.replaceSubrange(0..<length, with: bytes[0..<length])
        if let rangeBeyond { held.replaceSubrange(rangeBeyond, with: bytes[rangeBeyond]) }
        switch damage {
        case nil: break
        case .beforeFirstMilestone: held[0] ^= 0xFF
        case .afterFirstMilestone: held[length - 1] ^= 0xFF
        }
        return held
    }

    /// What the index knows of a wish's file.
    func fileRecord(of number: Int, for target: Target, _ resource: Resource) -> IndexRecord? {
        let wish = wishes[number]
        guard case .file(let version) = wish.past else { return nil }
        let wanted = world.resources[wish.resource]
        var record = IndexRecord(
            target: target, owner: "simulated", stamp: fileStamp(of: number, version),
            sha256: wanted.digest(of: version), verified: .size, promotedAt: Instant(seconds: 0))
        record.provenance = provenance(of: number, resource)
        record.validators = validators(of: wanted, version)
        return record
    }

    private func fileStamp(of number: Int, _ version: Int) -> FileStamp {
        let size = world.resources[wishes[number].resource].size(of: version)
        return FileStamp(size: Int64(size), modified: 1, changed: 1, inode: UInt64(number) + 10)
    }

    private func provenance(of number: Int, _ resource: Resource) -> Provenance {
        let wish = wishes[number]
        let place = world.address(of: wish.resource, at: wish.hosts[0])
        return Provenance(source: SourceKey(resource.sources[0].url), answeredBy: place)
    }

    private func validators(of wanted: SimulatedResource, _ version: Int) -> Validators {
        Validators(of: ResponseHead(status: 200, [("ETag", wanted.tag(of: version))]))
    }
}
