internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// A copy of the index's file and write-ahead log in a folder of its own, removed with this value.
///
/// Opening the copy cannot disturb the original: SQLite writes to a database even to read it. The
/// folder is held with flock(2): one that nobody holds is what a killed process left.
final class PrivateCopy: Sendable {
    /// The path of the copied database.
    let path: String
    private let folder: String
    /// The path of the copy may lead through this descriptor.
    private let origin: Descriptor
    private let hold: Descriptor

    /// Copies `index.sqlite` and its log from a folder; the copy is made in it when it can be
    /// written to (the copy may then share extents), else in `$TMPDIR` or `/tmp`, else in memory.
    static func make(
        from origin: Descriptor, path originPath: String
    ) throws(Errno) -> PrivateCopy {
        let temporary = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var failure = Errno(number: ENOENT, call: "mkdtemp", path: temporary)
        for place in [originPath, temporary, "/dev/shm"] {
            let made =
                place == originPath
                ? PrivateCopy.make(in: place) : PrivateCopy.makeTidily(in: place)
            guard let made else {
                failure = Errno(number: linux_errno(), call: "mkdtemp", path: place)
                continue
            }
            do throws(Errno) {
                return try PrivateCopy(from: origin, into: made)
            } catch {
                guard error.isNoSpace else { throw error }
                failure = error
            }
        }
        throw failure
    }

    private init(
        from origin: Descriptor, into made: (path: String, hold: Descriptor)
    ) throws(Errno) {
        folder = made.path
        hold = made.hold
        self.origin = origin
        path = made.path + "/" + IndexFile.name
        for suffix in ["", "-wal"] {
            let name = IndexFile.name + suffix
            do throws(Errno) {
                let source = Descriptor(
                    owning: try retrying("openat", name) {
                        linux_openat(
                            origin.number, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
                    })
                let copy = Descriptor(
                    owning: try retrying("open", folder) {
                        linux_openat(
                            AT_FDCWD, path + suffix, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
                    })
                try FileCopy.copy(from: source, to: copy, path: name)
            } catch {
                if suffix.isEmpty || error.number != ENOENT {
                    PrivateCopy.remove(folder: made.path)
                    throw error
                }
            }
        }
    }

    /// Removes the copies in a folder that killed processes left; those in use stay.
    static func removeLeftovers(in origin: Descriptor, path: String = ".mirror") {
        let names = (try? origin.names(path: path)) ?? []
        for name in names where name.utf8.starts(with: PrivateCopy.stem.utf8) {
            let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
            let number = linux_openat(origin.number, name, flags, 0)
            guard number >= 0 else { continue }
            let folder = Descriptor(owning: number)
            var status = stat()
            guard fstat(number, &status) == 0, status.st_uid == geteuid() else { continue }
            guard linux_flock(folder.number, LOCK_EX | LOCK_NB) == 0 else { continue }
            for suffix in ["", "-wal", "-shm"] {
                unlinkat(folder.number, IndexFile.name + suffix, 0)
            }
            unlinkat(origin.number, name, AT_REMOVEDIR)
        }
    }

    private static let stem = ".index-copy-"

    /// Makes a folder where no run that writes removes leftovers.
    private static func makeTidily(in place: String) -> (path: String, hold: Descriptor)? {
        let number = linux_openat(AT_FDCWD, place, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        if number >= 0 { removeLeftovers(in: Descriptor(owning: number), path: place) }
        return make(in: place)
    }

    /// Makes a folder and holds it; nil where none can be made.
    private static func make(in place: String) -> (path: String, hold: Descriptor)? {
        // Another process may take the new folder for a leftover before it is held.
        for _ in 1...16 {
            var template = Array("\(place)/\(stem)XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else { return nil }
            let path = String(
                decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
            let number = linux_openat(AT_FDCWD, path, flags, 0)
            guard number >= 0 else { continue }
            let hold = Descriptor(owning: number)
            if linux_flock(hold.number, LOCK_EX | LOCK_NB) == -EWOULDBLOCK { continue }
            if (try? hold.status(path: path))?.links ?? 0 > 0 { return (path, hold) }
        }
        return nil
    }

    deinit { remove() }

    /// Removes the files; nothing may be read from them any more.
    func remove() { PrivateCopy.remove(folder: folder) }

    private static func remove(folder: String) {
        for suffix in ["", "-wal", "-shm"] { unlink(folder + "/" + IndexFile.name + suffix) }
        rmdir(folder)
    }
}
