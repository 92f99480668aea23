/// The step for a file whose bytes are the wanted ones, but not its row: 32 bytes. The size is the
/// resource's, and so is the digest.
struct Adoption: Sendable {
    private var manifestAndReason: UInt32
    let resource: UInt32
    private let modified: Int64
    private let changed: Int64
    private let inode: UInt64

    /// Nil for steps of other kinds.
    init?(_ step: Step, of resource: Int) {
        guard case .adoption = step.means, case .ours(let stamp, _) = step.occupant else {
            return nil
        }
        manifestAndReason = UInt32(step.manifest) << 1 | (step.reason == .unrecorded ? 1 : 0)
        self.resource = UInt32(resource)
        (modified, changed, inode) = (stamp.modified, stamp.changed, stamp.inode)
    }

    var manifest: Int { Int(manifestAndReason >> 1) }

    var isUnrecorded: Bool { manifestAndReason & 1 == 1 }

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
    /// Milliseconds since the epoch until which the file is fresh; `forEver` where nobody asks again.
    private let freshUntil: Int64
    private let sha256: (UInt64, UInt64, UInt64, UInt64)

    private static let forEver = Int64.max

    /// Nil for steps of other kinds.
    init?(_ step: Step, of resource: Int) {
        guard step.kind == .keep, step.means == .nothing, let size = step.size,
            case .recorded(let digest) = step.occupant, digest.algorithm == .sha256
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
