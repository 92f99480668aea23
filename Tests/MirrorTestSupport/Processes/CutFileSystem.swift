internal import CTestSupport
internal import Glibc

/// A file system on an image of its own whose power can be cut: what was not flushed is lost.
///
/// The image lies in the page cache of this machine and loses nothing, so a cut tries what the file
/// system promises, not what a disk does with its own cache. Mounts are visible to the thread that
/// called `keepMountsPrivate()`, and to what it starts, and go with it.
package final class CutFileSystem {
    /// The file systems that know how to end without a flush of their log.
    package enum Kind: String, CaseIterable, Sendable {
        case ext4, xfs
    }

    /// Where it is mounted.
    package let folder: Folder
    private let place: Folder
    private let options: String
    private var isMounted = false

    /// Makes and mounts one.
    package init(_ kind: Kind, options: String) throws {
        place = try Folder.temporary(in: Folder.memory)
        try place.makeFolders(above: "mounted/.")
        folder = Folder(place.full("mounted"))
        self.options = (["loop"] + (options.isEmpty ? [] : [options])).joined(separator: ",")
        do {
            try place.write("image", [])
            guard truncate(place.full("image"), 400 << 20) == 0 else {
                throw SystemFailure("truncate", place.full("image"), errno: errno)
            }
            try run("/usr/sbin/mkfs.\(kind.rawValue)", "-q", place.full("image"))
            try mount()
        } catch {
            place.remove()
            throw error
        }
    }

    deinit {
        if isMounted { umount2(folder.path, 2 /* MNT_DETACH */) }
        place.remove()
    }

    /// Hides what is mounted from everybody but this thread and what it starts.
    package static func keepMountsPrivate() throws {
        let failure = test_keep_mounts_private()
        guard failure == 0 else { throw SystemFailure("unshare", "mounts", errno: failure) }
    }

    /// Mounts it, after a cut too: then the log is replayed.
    package func mount() throws {
        try run("/usr/bin/mount", "-o", options, place.full("image"), folder.path)
        isMounted = true
    }

    /// Unmounts it; a process that has just ended may keep it busy for a moment.
    package func unmount() throws {
        for _ in 1...500 {
            if umount2(folder.path, 0) == 0 {
                isMounted = false
                return
            }
            guard errno == EBUSY else { break }
            usleep(10_000)
        }
        throw SystemFailure("umount", folder.path, errno: errno)
    }

    /// Writes everything out.
    package func flush() { withDescriptor { _ = test_flush_all($0) } }

    /// Ends it now; every later call on it fails.
    package func cut() throws {
        var failure: Int32 = EBADF
        withDescriptor { failure = test_cut_power($0) }
        guard failure == 0 else { throw SystemFailure("shutdown", folder.path, errno: failure) }
    }

    private func withDescriptor(_ body: (Int32) -> Void) {
        let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        body(descriptor)
        close(descriptor)
    }

    private func run(_ program: String, _ arguments: String...) throws {
        let result = try Command.run(
            program, arguments, environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"])
        guard result.ending == .exited(0) else {
            throw StoryFailure("\(program): \(result.errors.suffix(200))")
        }
    }
}
