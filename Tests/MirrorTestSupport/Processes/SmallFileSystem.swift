internal import CTestSupport
internal import Glibc

/// A file system in memory that is full soon; needs the right to mount (root).
public final class SmallFileSystem: Sendable {
    /// Whether this process may mount one.
    public static let isPossible: Bool = (try? SmallFileSystem(bytes: 1 << 20)) != nil

    /// Where it is mounted.
    public let folder: Folder

    /// Mounts one of so many bytes (tmpfs(5)) on a folder of its own, or on an empty one.
    public init(bytes: Int, at path: String? = nil) throws {
        folder = try path.map { Folder($0) } ?? Folder.temporary()
        guard mount("mirror-test", folder.path, "tmpfs", 0, "size=\(bytes)") == 0 else {
            let number = errno
            rmdir(folder.path)
            throw SystemFailure("mount", folder.path, errno: number)
        }
    }

    /// Gives it another size (mount(2), MS_REMOUNT).
    package func resize(bytes: Int) throws(SystemFailure) {
        guard mount("mirror-test", folder.path, "tmpfs", 32 /* MS_REMOUNT */, "size=\(bytes)") == 0
        else { throw SystemFailure("mount", folder.path, errno: errno) }
    }

    /// How many bytes are taken.
    package var usedBytes: Int {
        var result = statvfs()
        statvfs(folder.path, &result)
        return Int(result.f_blocks - result.f_bfree) * Int(result.f_frsize)
    }

    deinit {
        umount2(folder.path, 2 /* MNT_DETACH */)
        rmdir(folder.path)
    }
}
