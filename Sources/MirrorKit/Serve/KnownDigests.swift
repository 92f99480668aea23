internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// The digests of open files whose stamps do not tell, e.g. in a copied tree.
///
/// A file is read once, and again when its stamp changes or its bytes were found to be others. The
/// memory is bounded.
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

    /// A doubt has no digest.
    private let digests = Mutex<[Key: Digest?]>([:])

    /// The digest of a file with this status; nil if it was not read yet.
    func digest(of status: FileStatus) -> Digest? {
        digests.withLock { $0[Key(status)] ?? nil }
    }

    /// The digest of a file with this status, whose bytes are `expected` as far as its stamp tells;
    /// nil if they were found to be others, and it was not read since.
    func digest(of status: FileStatus, expected: Digest) -> Digest? {
        digests.withLock { $0[Key(status)] ?? expected }
    }

    /// Notes the digest of a file that had this status before and after it was read.
    func note(_ digest: Digest, of status: FileStatus) { set(digest, of: status) }

    /// Notes that bytes of a file with this status were not those that it should have.
    func doubt(_ status: FileStatus) { set(nil, of: status) }

    private func set(_ digest: Digest?, of status: FileStatus) {
        digests.withLock { digests in
            if digests.count >= KnownDigests.most { digests = [:] }
            digests.updateValue(digest, forKey: Key(status))
        }
    }
}
