internal import CLinux
internal import Glibc
internal import MirrorManifests
internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem
internal import Synchronization

/// Parts that belong to no root: files without a name in any folder, gone when they are closed.
final class ScratchPartStore: PartStore {
    private let files = Mutex<[String: PartFile]>([:])

    func create(_ record: PartRecord) throws(MirrorError) -> PartFile {
        let number: Int32
        do throws(Errno) {
            number = try retrying("memfd_create", record.name) { linux_memfd("mirror-manifest") }
        } catch { throw MirrorError(error) }
        let file = PartFile(name: record.name, descriptor: number)
        files.withLock { $0[record.name] = file }
        return file
    }

    func open(_ record: PartRecord) throws(MirrorError) -> PartFile? {
        files.withLock { $0[record.name] }
    }

    func update(_ record: PartRecord) throws(MirrorError) {}

    func log(_ milestone: Milestone, from start: Int64, part name: String) throws(MirrorError) {}

    func discard(part name: String) throws(MirrorError) {
        files.withLock { $0[name] = nil }
    }

    /// The bytes of a received body.
    func text(of content: ReceivedBody.Storage) throws(MirrorError) -> ManifestText {
        switch content {
        case .memory(let bytes): return .memory(bytes)
        case .part(let name, _):
            guard let file = files.withLock({ $0[name] }) else {
                throw MirrorError(
                    .internalError, "A manifest was received, and its bytes are gone.")
            }
            return .file(file)
        }
    }
}

/// The bytes of a manifest.
enum ManifestText: Sendable {
    case memory([UInt8])
    /// The bytes that came over the network.
    case file(PartFile)
    /// A file of this machine.
    case open(Descriptor)

    /// Decodes them. Throws `ManifestRefusal`, or `MirrorError`.
    func decode(
        label: String, origin: ManifestOrigin, hint: ListHint
    ) throws -> DecodedManifest {
        let descriptor: Int32
        switch self {
        case .memory(let bytes):
            return try ManifestReader.read(bytes, label: label, origin: origin, hint: hint)
        case .file(let file): descriptor = file.descriptor
        case .open(let file): descriptor = file.number
        }
        lseek(descriptor, 0, SEEK_SET)
        return try ManifestReader.read(
            descriptor: descriptor, label: label, origin: origin, hint: hint)
    }
}
