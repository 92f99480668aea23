internal import Glibc
internal import Synchronization

/// What an honest server has to give: bytes by path, and the entity tag of those bytes.
public protocol Shelf: Sendable {
    /// The item of a path without its query; nil when there is none.
    func item(at path: String) -> ShelfItem?
}

/// The bytes of one version and its strong entity tag.
public struct ShelfItem: Sendable {
    /// The bytes.
    public let bytes: [UInt8]
    /// The entity tag with its quotes.
    public let entityTag: String

    /// Takes bytes and a tag.
    public init(bytes: [UInt8], entityTag: String) {
        self.bytes = bytes
        self.entityTag = entityTag
    }
}

/// Items in memory that a test replaces while they are being served.
public final class MemoryShelf: Shelf {
    private let items = Mutex<[String: ShelfItem]>([:])

    /// Begins with nothing.
    public init() {}

    /// Puts bytes at a path, e.g. `/a.bin`; requests that run keep the version that they began with.
    public func put(_ path: String, _ bytes: [UInt8]) {
        let item = ShelfItem(
            bytes: bytes, entityTag: "\"\(Checksum.sha256(bytes).prefix(16))\"")
        items.withLock { $0[path] = item }
    }

    /// The item of a path.
    public func item(at path: String) -> ShelfItem? { items.withLock { $0[path] } }
}

/// The files of a folder, read again for each request.
public struct FolderShelf: Shelf {
    private let folder: Folder

    /// Takes the folder's path.
    public init(_ path: String) { folder = Folder(path) }

    /// The file below the folder; nothing for a path with `..` in it.
    public func item(at path: String) -> ShelfItem? {
        let components = path.split(separator: "/").map { PercentCoding.decode(String($0)) }
        guard !components.contains("..") else { return nil }
        let name = components.joined(separator: "/")
        guard let before = folder.status(name), let bytes = folder.read(name),
            let after = folder.status(name)
        else { return nil }
        let tag = [
            UInt64(after.st_ino), UInt64(after.st_size), UInt64(after.st_mtim.tv_sec),
            UInt64(after.st_mtim.tv_nsec),
        ].map { String($0, radix: 16) }.joined(separator: "-")
        // A file that was written to while it was read has no tag that would be true of it.
        let isOneVersion =
            before.st_mtim.tv_nsec == after.st_mtim.tv_nsec
            && before.st_mtim.tv_sec == after.st_mtim.tv_sec
        return ShelfItem(bytes: bytes, entityTag: (isOneVersion ? "" : "W/") + "\"\(tag)\"")
    }
}

/// Percent-encoding of URL paths (RFC 3986 §2.1).
enum PercentCoding {
    static func decode(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
