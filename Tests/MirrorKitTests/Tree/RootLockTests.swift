import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

@Suite struct RootLockTests {
    private let now = Instant(milliseconds: 1_795_233_360_000)

    @Test func aSecondRunLearnsTheHolder() throws {
        let folder = try TemporaryFolder()
        let root = try RootDirectory(opening: folder.path)
        let lock = try RootLock.tryAcquire(root, now: now)
        let error = #expect(throws: MirrorError.self) { try RootLock.tryAcquire(root, now: now) }
        #expect(error?.code == .locked)
        #expect(error?.message.contains("pid \(getpid()), since 2026-11-21T03:56:00.000Z") == true)
        withExtendedLifetime(lock) {}
    }

    @Test func theLockIsFreeAfterItsHolderDies() throws {
        let folder = try TemporaryFolder()
        let root = try RootDirectory(opening: folder.path)
        do { _ = try RootLock.tryAcquire(root, now: now) }
        #expect(folder.names(in: ".mirror") == ["lock"])
        _ = try RootLock.tryAcquire(root, now: now)
    }

    @Test func theFileHasNothingOfAHolderBefore() throws {
        let folder = try TemporaryFolder()
        let root = try RootDirectory(opening: folder.path)
        try folder.write(String(repeating: "x", count: 5000), to: ".mirror/lock")
        let lock = try RootLock.tryAcquire(root, now: now)
        let bytes = try #require(folder.bytes(of: ".mirror/lock"))
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.hasSuffix("\n\(getpid())\n\(now.rfc3339)\n"))
        #expect(text.split(separator: "\n").count == 3)
        withExtendedLifetime(lock) {}
    }

    /// As in a child process between fork and exec.
    @Test func aSecondDescriptorDoesNotKeepTheLock() throws {
        let folder = try TemporaryFolder()
        let root = try RootDirectory(opening: folder.path)
        var lock: RootLock? = try RootLock.tryAcquire(root, now: now)
        let path = folder.path + "/.mirror/lock"
        let found: Int? = (3..<4096).first { number in
            guard let resolved = realpath("/proc/self/fd/\(number)", nil) else { return false }
            defer { free(resolved) }
            return String(cString: resolved) == path
        }
        let number = try #require(found)
        let copy = dup(Int32(number))
        defer { close(copy) }
        #expect(lock != nil)
        lock = nil
        _ = try RootLock.tryAcquire(root, now: now)
    }

    @Test func aLockHeldElsewhereRefusesUs() async throws {
        let folder = try TemporaryFolder()
        let root = try RootDirectory(opening: folder.path)
        do { _ = try RootLock.tryAcquire(root, now: now) }
        let file = folder.path + "/.mirror/lock"
        // flock(1) says when it has the lock, and keeps it until its input ends.
        let pipe = try #require(popen("flock -n '\(file)' sh -c 'echo > \(file).held; cat'", "w"))
        while access(file + ".held", F_OK) != 0 { usleep(1000) }
        #expect(throws: MirrorError.self) { try RootLock.tryAcquire(root, now: now) }
        pclose(pipe)
        _ = try RootLock.tryAcquire(root, now: now)
    }

    @Test(arguments: [(0x6969, "NFS"), (0x6573_5546, "FUSE"), (0xFE53_4D42, "SMB")])
    func aNetworkFileSystemIsWarnedOf(magic: Int, name: String) {
        let warning = RootLock.warning(for: FileSystemKind(magic: Int64(magic)))
        #expect(warning?.contains("(\(name))") == true)
        #expect(RootLock.warning(for: FileSystemKind(magic: 0xEF53)) == nil)
    }

    @Test(arguments: [
        ("5.8.0", true), ("5.7.19-generic", false), ("6.1.0-18-amd64", true), ("4.19.0", false),
        ("10.0", true), ("odd", false),
    ])
    func theKernelThatReportsGroupFlushesIsKnown(release: String, expected: Bool) {
        #expect(FileSystemKind.isAtLeast5_8(release: release) == expected)
    }
}
