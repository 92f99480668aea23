internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem
internal import Synchronization

/// Admits bodies whose size the manifest does not declare, as long as they fit.
///
/// A question to the file system costs as much as the receipt of a small file. So its answer stays
/// valid for a while, less the bytes admitted since, and as long as plenty is left. A refusal
/// always follows a new look.
final class SpaceGate: Sendable {
    /// The number of milliseconds for which a look stays valid.
    private static let validity: Int64 = 250
    /// If fewer bytes than this are left beyond the needed ones, each body gets a look of its own.
    private static let plenty: Int64 = 256 << 20

    private struct Look {
        var space: FreeSpace
        /// The bytes admitted since the look, by file system.
        var admitted: [String: Int64] = [:]
        /// When the look stops being valid, in milliseconds of the monotonic clock.
        var endsAt: Int64

        /// The bytes left on a file system, by the look and the admissions since.
        func bytes(on volume: FreeSpace.Volume) -> Int64 {
            volume.availableBytes - (admitted[volume.place] ?? 0)
        }

        /// Admits a body.
        mutating func admit(_ bytes: Int64, on volumes: [FreeSpace.Volume]) {
            for volume in volumes {
                admitted[volume.place] = bytes.addingSaturated(admitted[volume.place] ?? 0)
            }
        }
    }

    private let root: RootDirectory
    private let leastFreeSpace: Int64
    private let look = Mutex<Look?>(nil)

    init(_ root: RootDirectory, leastFreeSpace: Int64) {
        self.root = root
        self.leastFreeSpace = leastFreeSpace
    }

    /// Admits bytes of a target if they fit; otherwise returns the reason why not.
    ///
    /// They must fit where the part lies and where the file will lie.
    func admit(_ bytes: Int64, for target: Target) -> MirrorError? {
        let needed = bytes.addingSaturated(leastFreeSpace)
        let now = SystemClock.monotonic()
        return look.withLock { look in
            if let known = look, now < known.endsAt {
                let volumes = known.space.volumes(for: target.area)
                let enough = needed.addingSaturated(Self.plenty)
                if volumes.allSatisfy({ known.bytes(on: $0) >= enough }) {
                    look?.admit(bytes, on: volumes)
                    return nil
                }
            }
            guard let space = try? FreeSpace(of: root) else { return nil }
            let volumes = space.volumes(for: target.area)
            var demand = SpaceDemand()
            demand.add(bytes, for: target)
            for volume in volumes {
                let refusal = demand.refusal(
                    at: volume.path(in: root), available: volume.availableBytes,
                    least: leastFreeSpace)
                if let refusal { return refusal }
            }
            var fresh = Look(space: space, endsAt: now + Self.validity)
            fresh.admit(bytes, on: volumes)
            look = fresh
            return nil
        }
    }
}
