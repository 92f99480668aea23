internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// The digests of open files whose stamps were not those of the index, e.g. in a copied tree.
///
/// A file is read once, and again when its stamp changes. The memory is bounded.
final class KnownDigests: Sendable {
    private struct Key: Hashable {
        let stamp: FileStamp
        let device: UInt64

        init(_ status: FileStatus) {
            stamp = status.stamp
            device = status.device
        }
    }

    private static let most = 65536

    private let digests = Mutex<[Key: Digest]>([:])

    /// The digest of a file with this status; nil if it was not read yet.
    func digest(of status: FileStatus) -> Digest? {
        digests.withLock { $0[Key(status)] }
    }

    /// Notes the digest of a file that had this status before and after it was read.
    func note(_ digest: Digest, of status: FileStatus) {
        digests.withLock { digests in
            if digests.count >= KnownDigests.most { digests = [:] }
            digests[Key(status)] = digest
        }
    }
}
