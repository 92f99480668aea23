internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem
internal import Synchronization

/// Lets in bodies that the manifest gave no size, as long as they fit.
///
/// To ask the file system costs as much as to receive a small file. So what it said counts for a while,
/// less what was let in since, and as long as plenty is left; a refusal always follows a new look.
final class SpaceGate: Sendable {
    /// For how many milliseconds a look counts.
    private static let validity: Int64 = 250
    /// Below so many bytes more than are needed each body has a look of its own.
    private static let plenty: Int64 = 256 << 20

    private struct Look {
        var space: FreeSpace
        /// What was let in since, by file system.
        var admitted: [String: Int64] = [:]
        var endsAt: Int64

        /// What is left on a file system, as far as is known.
        func bytes(on volume: FreeSpace.Volume) -> Int64 {
            volume.availableBytes - (admitted[volume.place] ?? 0)
        }

        /// Lets a body in.
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

    /// Whether so many more bytes of a target fit, where its part lies and where it will lie; why not,
    /// where they do not.
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
