@testable import MirrorKit
import Testing

/// One cell of the table of situations: what the manifest says, what the index knows, what the tree
/// shows, which part is left, in which area, under which options.
struct DecisionCell: CustomStringConvertible {
    /// What the manifest says, seen from the version that mirror put there.
    enum Wish: CaseIterable {
        case pinnedToRecorded, pinnedToAnother
        case sha512OfRecorded, sha512UnknownToRow, sha512OfAnother
        case pinnedWithAnotherSize
        case unpinnedFresh, unpinnedDue, unpinnedFromAnotherSource, unpinnedOfAnotherSize
    }
    enum Index: CaseIterable { case nothing, row }
    enum Tree: CaseIterable { case absent, intact, touched, drifted, wantedBytes, folder }
    enum Part: CaseIterable { case none, fitting, ofAnotherVersion, anonymous }
    enum Option: CaseIterable { case none, everythingIsDue, refetched, prunes, orphan, localSource }

    var wish: Wish
    var index: Index
    var tree: Tree
    var part: Part
    var area: Area
    var option: Option

    var description: String {
        "wish \(wish), index \(index), tree \(tree), part \(part), \(area), option \(option)"
    }

    /// All cells of a wish that can exist.
    static func all(of wish: Wish) -> [DecisionCell] {
        var cells: [DecisionCell] = []
        for index in Index.allCases {
            for tree in Tree.allCases {
                for part in Part.allCases {
                    for area in Area.allCases {
                        for option in Option.allCases {
                            let cell = DecisionCell(
                                wish: wish, index: index, tree: tree, part: part, area: area,
                                option: option)
                            if cell.exists { cells.append(cell) }
                        }
                    }
                }
            }
        }
        return cells
    }

    /// Bytes can only be known as the wanted ones, and not be the recorded ones, under a pin to
    /// another version; and only pinned bytes are found under other names.
    private var exists: Bool {
        if tree == .wantedBytes, wanted != .another { return false }
        return option != .localSource || wanted != nil
    }

    /// The bytes that a pin names; nil when there is no pin.
    var wanted: Content? {
        switch wish {
        case .pinnedToRecorded, .sha512OfRecorded, .sha512UnknownToRow, .pinnedWithAnotherSize:
            .recorded
        case .pinnedToAnother, .sha512OfAnother: .another
        default: nil
        }
    }

    /// The bytes that are at the target; nil when no file is.
    var present: Content? {
        switch tree {
        case .absent, .folder: nil
        case .intact, .touched: .recorded
        case .drifted: .edited
        case .wantedBytes: .another
        }
    }

    /// The size that the manifest declares, where the cell has one.
    var declaredSize: Int64? {
        switch wish {
        case .pinnedWithAnotherSize, .unpinnedOfAnotherSize: 500
        default: nil
        }
    }
}

/// The three versions of a file that a cell may speak of.
enum Content: UInt8, CaseIterable {
    case recorded = 0xA1
    case another = 0xB2
    case edited = 0xE3

    func digest(_ algorithm: DigestAlgorithm) throws -> Digest {
        try #require(
            Digest(algorithm, bytes: Array(repeating: rawValue, count: algorithm.byteCount)))
    }

    var size: Int64 { 100 + Int64(rawValue & 15) }
}

extension DecisionCell {
    static let now = Instant(seconds: 1_000_000)
    static let owner = "maps"

    var target: Target { get throws { try Target("\(area.rawValue)/a.bin") } }
    var orphanTarget: Target { get throws { try Target("Caches/old.bin") } }
    var localSourceTarget: Target { get throws { try Target("Caches/twin.bin") } }

    static func key(_ name: String) -> SourceKey {
        SourceKey(text: "https://\(name).example/a.bin")
    }

    static func provenance(_ name: String) -> Provenance {
        Provenance(source: key(name), answeredBy: "https://\(name).example/a.bin")
    }

    static func validators() throws -> Validators {
        let tag = try #require(EntityTag("\"v1\""))
        return Validators(entityTag: tag, strong: .entityTag(tag))
    }

    /// The name of the source that the manifest gives now.
    var sourceName: String { wish == .unpinnedFromAnotherSource ? "new" : "origin" }

    func resource() throws -> Resource {
        var resource = Resource(
            target: try target, url: try SourceURL("https://\(sourceName).example/a.bin"))
        resource.size = declaredSize
        switch wish {
        case .pinnedToRecorded, .pinnedWithAnotherSize:
            resource.digests = [try Content.recorded.digest(.sha256)]
        case .pinnedToAnother: resource.digests = [try Content.another.digest(.sha256)]
        case .sha512OfRecorded, .sha512UnknownToRow:
            resource.digests = [try Content.recorded.digest(.sha512)]
        case .sha512OfAnother: resource.digests = [try Content.another.digest(.sha512)]
        case .unpinnedDue: resource.refresh = .always
        case .unpinnedFresh, .unpinnedFromAnotherSource, .unpinnedOfAnotherSize:
            resource.refresh = .after(.seconds(3600))
        }
        if wanted != nil { resource.refresh = .never }
        return resource
    }

    static func stamp(_ content: Content, inode: UInt64 = 7) -> FileStamp {
        FileStamp(size: content.size, modified: 10, changed: 20, inode: inode)
    }

    /// The row of a version from the first source, confirmed a minute ago.
    func record(
        _ target: Target, _ content: Content, from name: String = "origin"
    ) throws -> IndexRecord {
        var record = IndexRecord(
            target: target, owner: Self.owner, stamp: Self.stamp(content),
            sha256: try content.digest(.sha256), verified: .digest,
            promotedAt: Self.now.advanced(bySeconds: -60))
        record.provenance = Self.provenance(name)
        record.validators = try Self.validators()
        let isOrphan = try target != self.target
        if wish == .sha512OfRecorded || isOrphan {
            record.otherDigest = try content.digest(.sha512)
        }
        return record
    }

    func situation() throws -> Situation {
        let resource = try resource()
        var situation = Situation(
            resource: resource, owner: Self.owner, sources: [Self.key(sourceName)])
        if index == .row { situation.record = try record(try target, .recorded) }
        switch tree {
        case .absent: break
        case .folder: situation.file = .other(.folder)
        case .intact, .touched, .drifted, .wantedBytes:
            let content = try #require(present)
            let isAsRecorded = tree == .intact && index == .row
            situation.file = .file(
                Self.stamp(content, inode: isAsRecorded ? 7 : 8))
            if !isAsRecorded || [.sha512UnknownToRow, .sha512OfAnother].contains(wish) {
                situation.digests = [try content.digest(.sha256), try content.digest(.sha512)]
            }
        }
        situation.parts = try parts(for: resource)
        if option == .localSource { situation.localSource = try localSourceTarget }
        if option == .prunes || option == .orphan {
            situation.orphan = try record(
                try orphanTarget, wanted ?? .recorded, from: sourceName)
        }
        return situation
    }

    private func parts(for resource: Resource) throws -> [PartRecord] {
        let tag = StrongValidator.entityTag(try #require(EntityTag("\"v2\"")))
        let identity: PartIdentity
        switch part {
        case .none: return []
        case .anonymous: identity = .anonymous
        case .fitting:
            identity =
                resource.pin.map { .digest($0) } ?? .version(Self.provenance(sourceName), tag)
        case .ofAnotherVersion:
            identity =
                resource.pin != nil
                ? .digest(try Content.edited.digest(.sha256))
                : .version(Self.provenance("elsewhere"), tag)
        }
        var part = PartRecord(
            name: "a.bin.0.part", target: try target, identity: identity, total: nil,
            provenance: Self.provenance(sourceName), validators: Validators())
        part.milestones = [Milestone(length: 40, sha256: try Content.another.digest(.sha256))]
        return [part]
    }

    func reconciler() throws -> Reconciler {
        var reconciler = Reconciler()
        reconciler.everythingIsDue = option == .everythingIsDue
        reconciler.prunes = option == .prunes
        if option == .refetched { reconciler.refetched = [try target] }
        return reconciler
    }
}
