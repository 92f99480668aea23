internal import CLinux
internal import Glibc
internal import MirrorModel

/// What a session knows of a manifest that it has read, for the index to remember.
struct FetchedManifest: Sendable {
    var record: ManifestRecord
    /// Bytes that become the last good copy; nil when the copy is current, or the manifest is a file.
    var newCopy: ManifestText?
}

/// The last good copy of a manifest that came by URL: a file in `.mirror/manifests/`.
struct ManifestCopy: Sendable {
    let record: ManifestRecord
    /// The copy, open for reading; its bytes have the recorded digest.
    let file: Descriptor

    private static let folder = ".mirror/manifests"

    /// Opens the copy that a row speaks of; nil when it is not there, or not as it was written.
    init?(of record: ManifestRecord, in root: RootDirectory?) {
        guard let root, let name = record.copyName, let digest = record.copyDigest,
            let file = try? root.openFile(ManifestCopy.folder + "/" + name),
            let read = try? FileDigests.compute(file, algorithms: [.sha256], path: name),
            read.first == digest
        else { return nil }
        self.record = record
        self.file = file
    }

    /// The version for a conditional request.
    var version: LocalVersion? {
        guard let provenance = record.provenance, let digest = record.copyDigest else { return nil }
        return LocalVersion(
            provenance: provenance, validators: record.validators, size: 0, sha256: digest)
    }

    /// The copy's file name for a manifest.
    static func name(for key: SourceKey) -> String {
        String(ByteHasher.digest(.sha256, of: Array(key.text.utf8)).hex.prefix(32)) + ".manifest"
    }

    /// Writes a copy in the place of an older one: to a new file, flushed, then renamed.
    static func write(_ text: ManifestText, name: String, in root: RootDirectory)
        throws(MirrorError)
    {
        do throws(Errno) {
            let folder = try root.makeFolder(ManifestCopy.folder)
            let path = ManifestCopy.folder + "/" + name
            let hidden = "." + name + "." + RandomBytes.hex(8)
            let number = try retrying("openat", path) {
                let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
                return linux_openat(folder.number, hidden, flags, 0o644)
            }
            let file = Descriptor(owning: number)
            do throws(Errno) {
                switch text {
                case .memory(let bytes):
                    try file.write(bytes, at: 0, path: path)
                case .file(let source):
                    let origin = Descriptor(owning: dup(source.descriptor))
                    lseek(origin.number, 0, SEEK_SET)
                    try FileCopy.copy(from: origin, to: file, path: path)
                }
                try file.flushBytes(path: path)
                try retryingLibc("renameat", path) {
                    renameat(folder.number, hidden, folder.number, name)
                }
            } catch {
                unlinkat(folder.number, hidden, 0)
                throw error
            }
        } catch { throw MirrorError(error) }
    }
}
