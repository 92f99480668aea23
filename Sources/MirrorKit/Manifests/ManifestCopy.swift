internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorParts
internal import MirrorStore
internal import MirrorSystem

/// The last good copy of a manifest: a file in `.mirror/manifests/`.
///
/// A copy of another text has another name. So a crash between the write of a copy and the write of
/// its row leaves the previous copy, with the row that names it. A copy that no row names is
/// removed after the next write.
struct ManifestCopy: Sendable {
    let record: ManifestRecord
    /// The copy, open for reading; its bytes have the recorded digest.
    let file: Descriptor

    private static let folder = ".mirror/manifests"

    /// Opens the copy that a row names; nil if it is missing, or differs from what was written.
    init?(of record: ManifestRecord, in root: RootDirectory?) {
        guard let root, let name = record.copyName, let digest = record.copyDigest,
            let file = try? root.openFile(ManifestCopy.folder + "/" + name),
            let read = try? FileDigests.compute(file, algorithms: [.sha256], path: name),
            read.first == digest
        else { return nil }
        self.record = record
        self.file = file
    }

    /// Whether the copy that a row names exists; its bytes are not checked.
    static func isThere(_ record: ManifestRecord, in root: RootDirectory) -> Bool {
        record.copyName.map { isThere($0, in: root) } ?? false
    }

    /// Whether a copy with this name exists; its bytes are not checked.
    static func isThere(_ name: String, in root: RootDirectory) -> Bool {
        (try? root.openFile(folder + "/" + name)) != nil
    }

    /// The version for a conditional request.
    var version: LocalVersion? {
        guard let provenance = record.provenance, let digest = record.copyDigest else { return nil }
        return LocalVersion(
            provenance: provenance, validators: record.validators, size: 0, sha256: digest)
    }

    /// A copy that was written and flushed, and that no row names yet.
    struct Taken: Sendable {
        let name: String
        let digest: Digest
    }

    /// Writes a manifest's text to a new file and flushes it.
    static func write(
        _ text: ManifestText, of manifest: String, in root: RootDirectory
    ) throws(MirrorError) -> Taken {
        do throws(Errno) {
            let folder = try root.makeFolder(ManifestCopy.folder)
            let hidden = "." + RandomBytes.hex(16)
            let path = ManifestCopy.folder + "/" + hidden
            let file = Descriptor(
                owning: try retrying("openat", path) {
                    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
                    // A manifest may hold a token, and its file may be readable by its owner only.
                    return linux_openat(folder.number, hidden, flags, 0o600)
                })
            do throws(Errno) {
                try fill(file, with: text, path: path)
                guard let digest = try digest(of: file, path: path) else {
                    throw Errno(number: EIO, call: "read", path: path)
                }
                let owner = ByteHasher.digest(.sha256, of: Array(manifest.utf8))
                let name = "\(owner.hex.prefix(16)).\(digest.hex.prefix(32)).manifest"
                try file.flushBytes(path: path)
                try retryingLibc("renameat", path) {
                    renameat(folder.number, hidden, folder.number, name)
                }
                try folder.flush(path: ManifestCopy.folder)
                return Taken(name: name, digest: digest)
            } catch {
                unlinkat(folder.number, hidden, 0)
                throw error
            }
        } catch { throw MirrorError(error) }
    }

    /// The sha256 of an open file.
    static func digest(of file: Descriptor, path: String) throws(Errno) -> Digest? {
        try FileDigests.compute(file, algorithms: [.sha256], path: path)?.first
    }

    /// Removes the copies that no row names. A leftover copy only takes up disk space.
    static func sweep(_ root: RootDirectory, keeping records: [ManifestRecord]) {
        guard let folder = try? root.openFolder(ManifestCopy.folder),
            let names = try? folder.names(path: ManifestCopy.folder)
        else { return }
        let known = Set(records.compactMap(\.copyName))
        for name in names where !known.contains(name) { unlinkat(folder.number, name, 0) }
    }

    private static func fill(
        _ file: Descriptor, with text: ManifestText, path: String
    ) throws(Errno) {
        switch text {
        case .memory(let bytes): try file.write(bytes, at: 0, path: path)
        case .file(let part): try copy(from: part.descriptor, to: file, path: path)
        case .open(let source): try copy(from: source.number, to: file, path: path)
        }
    }

    private static func copy(
        from number: Int32, to file: Descriptor, path: String
    ) throws(Errno) {
        let origin = Descriptor(owning: try retrying("dup", path) { dup(number) })
        try FileCopy.copy(from: origin, to: file, path: path)
    }
}
