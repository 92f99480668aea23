internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem

/// A folder outside the tree that is filled under a hidden name, and gets its own when it is whole.
///
/// Files are copied, or share extents that the file system parts at the first change. They are no
/// hard links: whoever edits one would edit the tree's. A killed process leaves the hidden folder,
/// which nobody holds with flock(2) then; the next export to the same path removes it.
final class ExportFolder {
    private let path: String
    private let hidden: DirectoryEntry
    private let name: String
    /// Its descriptor, locked as long as the export lasts.
    private let hold: Descriptor
    private let content: RootDirectory
    private var folders: FolderCache

    /// Makes the hidden folder. Throws `MirrorError` with `usage` if something is at the path.
    init(at path: String) throws {
        let hasSlash = path.utf8.count > 1 && path.utf8.last == UInt8(ascii: "/")
        let trimmed = hasSlash ? path.prefix(bytes: path.utf8.count - 1) : path
        name = PathText.name(of: trimmed)
        let isDeep = trimmed.utf8.contains(UInt8(ascii: "/"))
        let above = isDeep ? PathText.folder(of: trimmed) + "/" : "./"
        self.path = trimmed
        do throws(Errno) {
            let parent = Descriptor(
                owning: try retrying("open", above) {
                    linux_openat(AT_FDCWD, above, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
                })
            if try DirectoryEntry(folder: parent, name: name, path: path).status() != nil {
                throw Errno(number: EEXIST, call: "mkdir", path: path)
            }
            ExportFolder.removeLeftovers(of: name, in: parent, path: above)
            (hidden, hold) = try ExportFolder.makeHidden(for: name, in: parent, path: path)
        } catch {
            throw ExportFolder.sentence(on: error, path: path)
        }
        content = try RootDirectory(opening: above + hidden.name)
        folders = FolderCache(content)
    }

    /// Makes a hidden folder and holds it.
    ///
    /// Until it is held, another export to the same path takes it for a leftover and removes it. Then
    /// the next one gets another name.
    private static func makeHidden(
        for name: String, in parent: Descriptor, path: String
    ) throws(Errno) -> (DirectoryEntry, Descriptor) {
        for _ in 0..<100 {
            let fresh = stem(of: name) + RandomBytes.hex(8)
            let hidden = DirectoryEntry(folder: parent, name: fresh, path: path)
            try retryingLibc("mkdir", path) { mkdirat(parent.number, fresh, 0o755) }
            do throws(Errno) {
                let hold = try hidden.open(O_RDONLY | O_DIRECTORY)
                guard linux_flock(hold.number, LOCK_EX | LOCK_NB) == 0 else { continue }
                // One that was removed before it was held has no name any more.
                let inode = try hold.status(path: path).stamp.inode
                if try hidden.status()?.stamp.inode == inode {
                    return (hidden, hold)
                }
            } catch {
                if error.number != ENOENT { throw error }
            }
        }
        throw Errno(number: EBUSY, call: "flock", path: path)
    }

    private static func sentence(on error: Errno, path: String) -> MirrorError {
        guard error.number == EEXIST else { return MirrorError(error) }
        return MirrorError(
            .usage,
            "\(path.printable): it is there already, and an export replaces nothing. Name a folder that is not there yet."
        )
    }

    private static func stem(of name: String) -> String { ".\(name.prefix(bytes: 160)).mirror-" }

    private static func removeLeftovers(of name: String, in parent: Descriptor, path: String) {
        let stem = stem(of: name)
        for other in (try? parent.names(path: path, containing: stem)) ?? [] {
            guard other.utf8.starts(with: stem.utf8),
                Hex.decode(other.utf8.dropFirst(stem.utf8.count))?.count == 8
            else { continue }
            let entry = DirectoryEntry(folder: parent, name: other, path: other)
            guard let folder = try? entry.open(O_RDONLY | O_DIRECTORY),
                linux_flock(folder.number, LOCK_EX | LOCK_NB) == 0
            else { continue }
            try? entry.removeTree()
        }
    }

    /// Copies a file of the tree, and compares the copy's digest with the row.
    func add(
        _ copy: ExportedCopy, from root: RootDirectory, isCancelled: () -> Bool
    ) throws {
        let target = copy.record.target
        do throws(Errno) {
            let source = try root.openFile(target.path)
            guard try source.status(path: target.path).isFile else {
                throw Errno(number: EISDIR, call: "open", path: target.path)
            }
            let file = try make(copy.name, mode: copy.record.isExecutable ? 0o755 : 0o644)
            try FileCopy.copy(from: source, to: file, path: copy.name)
            let digests = try FileDigests.compute(
                file, algorithms: [.sha256], path: copy.name, isCancelled: isCancelled)
            if digests?.first == copy.record.sha256 { return }
        } catch { throw MirrorError(error, target: target) }
        if isCancelled() { throw MirrorError(wrapping: CancellationError()) }
        throw MirrorError(
            .sourceChanged,
            "\(target): it changed while it was copied, so nothing was exported. Run again.",
            target: target)
    }

    /// Adds a text.
    func add(_ text: [UInt8], named name: String) throws {
        do throws(Errno) { try make(name, mode: 0o644).write(text, at: 0, path: name) } catch {
            throw MirrorError(error)
        }
    }

    private func make(_ path: String, mode: UInt32) throws(Errno) -> Descriptor {
        let (folder, name) = FolderCache.split(path)
        let parent = try folders.make(folder).descriptor
        return try DirectoryEntry(folder: parent, name: name, path: path)
            .open(O_RDWR | O_CREAT | O_EXCL, mode: mode)
    }

    /// Brings everything to the disk, and gives the folder its name.
    func promote() throws {
        do throws(Errno) {
            // The descriptor is older than each write, so an error of any of them is reported.
            try retrying("syncfs", path) { linux_syncfs(content.descriptor.number) }
            try hidden.renameToFree(hidden.sibling(name))
            try hidden.folder.flush(path: path)
        } catch { throw ExportFolder.sentence(on: error, path: path) }
    }

    /// Removes what was made so far.
    func remove() { try? hidden.removeTree() }
}
