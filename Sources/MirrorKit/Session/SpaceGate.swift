internal import MirrorModel
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
        var availableBytes: Int64
        var endsAt: Int64
    }

    private let root: RootDirectory
    private let leastFreeSpace: Int64
    private let look = Mutex<Look?>(nil)

    init(_ root: RootDirectory, leastFreeSpace: Int64) {
        self.root = root
        self.leastFreeSpace = leastFreeSpace
    }

    /// Whether so many more bytes fit on the file system of the parts; why not, where they do not.
    func admit(_ bytes: Int64) -> MirrorError? {
        let needed = bytes.addingSaturated(leastFreeSpace)
        let now = SystemClock.monotonic()
        return look.withLock { look in
            if let known = look, now < known.endsAt,
                known.availableBytes >= needed.addingSaturated(Self.plenty)
            {
                look?.availableBytes -= bytes
                return nil
            }
            guard let space = try? FreeSpace(of: root), let parts = space.volume(of: .tmp) else {
                return nil
            }
            look = Look(
                availableBytes: parts.availableBytes - bytes, endsAt: now + Self.validity)
            return parts.availableBytes < needed ? refusal(of: bytes, parts.availableBytes) : nil
        }
    }

    private func refusal(of bytes: Int64, _ availableBytes: Int64) -> MirrorError {
        MirrorError(
            .spaceLimit,
            "\(root.path)/tmp: \(ByteCount(bytes)) more do not fit: \(ByteCount(availableBytes)) are left, and \(ByteCount(leastFreeSpace)) stay free (--min-free). Parts are kept. Make room, or lower --min-free."
        )
    }
}
