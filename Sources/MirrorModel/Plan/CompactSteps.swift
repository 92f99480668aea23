/// A step in eight bytes: its form, and where the rest of it is.
struct StepSlot {
    /// The position of the resource in its manifest, or of the step among the adoptions, the
    /// unpinned keeps, the orphans or the others.
    var position: UInt32
    /// One of the four greatest numbers for those, or the manifest's number doubled, and 1
    /// more for a fetch.
    private var form: UInt32

    enum Form { case keep, fetch, adoption, unpinned, removal, other }

    init(_ form: Form, _ position: Int, manifest: Int = 0) {
        self.position = UInt32(position)
        self.form =
            switch form {
            case .keep: UInt32(manifest) << 1
            case .fetch: UInt32(manifest) << 1 | 1
            case .removal: .max - 3
            case .unpinned: .max - 2
            case .adoption: .max - 1
            case .other: .max
            }
    }

    var manifest: Int { Int(form >> 1) }

    var kind: Form {
        switch form {
        case .max: return .other
        case .max - 1: return .adoption
        case .max - 2: return .unpinned
        case .max - 3: return .removal
        default: return form & 1 == 1 ? .fetch : .keep
        }
    }
}

/// The step for a file whose bytes are the wanted ones, but not its row: 32 bytes. The size is the
/// resource's, and so is the digest.
struct Adoption: Sendable {
    private var manifestAndReason: UInt32
    let resource: UInt32
    private let modified: Int64
    private let changed: Int64
    private let inode: UInt64

    /// A reason is a number below 4,096: the first five stand for these reasons, the others for
    /// former owners.
    private static let reasons: [Reason] = [
        .touched, .unrecorded, .modeChanged(isExecutable: false), .modeChanged(isExecutable: true),
        .proven,
    ]

    /// How many owners have a number.
    static let mostOwners = (1 << 12) - reasons.count

    /// Nil for steps of other kinds, and where a number is too great; `number` numbers owners.
    init?(_ step: Step, of resource: Int, number: (String) -> Int) {
        guard case .adoption = step.means, case .ours(let stamp, _) = step.existing else {
            return nil
        }
        var reason = Adoption.reasons.firstIndex(of: step.reason)
        if let label = Adoption.label(of: step.reason) {
            reason = Adoption.reasons.count + number(label)
        }
        guard let reason, reason < 1 << 12, step.manifest < 1 << 20 else { return nil }
        manifestAndReason = UInt32(step.manifest) << 12 | UInt32(reason)
        self.resource = UInt32(resource)
        (modified, changed, inode) = (stamp.modified, stamp.changed, stamp.inode)
    }

    var manifest: Int { Int(manifestAndReason >> 12) }

    private var reasonNumber: Int { Int(manifestAndReason & 0xFFF) }

    /// Why the file is adopted; `owner` names an owner before by its number.
    func reason(owner: (Int) -> String) -> Reason {
        let former = reasonNumber - Adoption.reasons.count
        return former < 0 ? Adoption.reasons[reasonNumber] : Adoption.reason(owner(former))
    }

    /// The number of a reason that names owners; one bit tells former owners from present ones.
    private static func label(of reason: Reason) -> String? {
        switch reason {
        case .ownedBefore(let owner): owner
        case .ownedTogether(let owners): "\u{1F}" + owners.text
        default: nil
        }
    }

    private static func reason(_ label: String) -> Reason {
        label.utf8.first == 0x1F
            ? .ownedTogether(by: Owners(text: String(label.unicodeScalars.dropFirst())))
            : .ownedBefore(by: label)
    }

    /// The same, with another number for the owner before.
    func renumbered(_ number: (Int) -> Int) -> Adoption {
        let former = reasonNumber - Adoption.reasons.count
        guard former >= 0 else { return self }
        var adoption = self
        adoption.manifestAndReason =
            manifestAndReason & ~0xFFF | UInt32(Adoption.reasons.count + number(former))
        return adoption
    }

    func stamp(size: Int64) -> FileStamp {
        FileStamp(size: size, modified: modified, changed: changed, inode: inode)
    }
}

/// The step for a file that stays as it is though nothing pins it: 56 bytes. The digest and the size
/// are what the index knows.
struct UnpinnedKeep: Sendable {
    let manifest: UInt32
    let resource: UInt32
    let size: Int64
    /// Milliseconds since the epoch until which the file is fresh; `forEver` where no request will follow.
    private let freshUntil: Int64
    private let sha256: (UInt64, UInt64, UInt64, UInt64)

    private static let forEver = Int64.max

    /// Nil for steps of other kinds.
    init?(_ step: Step, of resource: Int) {
        guard step.kind == .keep, step.means == .nothing, let size = step.size,
            case .recorded(let digest) = step.existing, digest.algorithm == .sha256
        else { return nil }
        switch step.reason {
        case .intact: freshUntil = UnpinnedKeep.forEver
        case .fresh(let until): freshUntil = until.milliseconds
        default: return nil
        }
        manifest = UInt32(step.manifest)
        self.resource = UInt32(resource)
        self.size = size
        var sha256: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        withUnsafeMutableBytes(of: &sha256) { $0.copyBytes(from: digest.bytes) }
        self.sha256 = sha256
    }

    var reason: Reason {
        freshUntil == UnpinnedKeep.forEver
            ? .intact : .fresh(until: Instant(milliseconds: freshUntil))
    }

    var digest: Digest? {
        withUnsafeBytes(of: sha256) { Digest(.sha256, bytes: Array($0)) }
    }
}
