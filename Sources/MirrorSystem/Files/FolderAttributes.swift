internal import CLinux
internal import Glibc

/// What a folder has besides its entries and times: mode, owner, group and extended attributes.
///
/// Access control lists and security labels are extended attributes.
package struct FolderAttributes: Sendable, Hashable {
    /// The permission bits.
    package let mode: UInt16
    private let user: UInt32
    private let group: UInt32
    private let extended: [[UInt8]: [UInt8]]

    /// Reads the attributes of an open folder (statx(2), flistxattr(2)).
    package init(of folder: Descriptor, path: String) throws(Errno) {
        var status = linux_status()
        try retrying("statx", path) {
            linux_statx(folder.number, "", Int32(LINUX_AT_EMPTY_PATH), &status)
        }
        mode = status.mode & 0o7777
        user = status.user
        group = status.group
        extended = try FolderAttributes.extended(of: folder, path: path)
    }

    /// Whether another folder differs in nothing but its mode, which can be set.
    package func equalsExceptForMode(_ other: FolderAttributes) -> Bool {
        user == other.user && group == other.group && extended == other.extended
    }

    private static func extended(
        of folder: Descriptor, path: String
    ) throws(Errno) -> [[UInt8]: [UInt8]] {
        let names: [UInt8]
        do throws(Errno) {
            names = try bytes("flistxattr", path) {
                linux_list_attributes(folder.number, $0, $1)
            }
        } catch {
            // A file system without such attributes.
            if error.number == EOPNOTSUPP { return [:] }
            throw error
        }
        var attributes: [[UInt8]: [UInt8]] = [:]
        for name in names.split(separator: 0) {
            attributes[Array(name)] = try (name + [0]).withUnsafeBufferPointer {
                (name) throws(Errno) in
                try bytes("fgetxattr", path) { value, size in
                    name.withMemoryRebound(to: CChar.self) {
                        $0.baseAddress.map {
                            linux_get_attribute(folder.number, $0, value, size)
                        } ?? 0
                    }
                }
            }
        }
        return attributes
    }

    /// Asks for the number of bytes, then for the bytes (64 KiB at most, xattr(7)).
    private static func bytes(
        _ call: StaticString, _ path: String,
        _ body: (UnsafeMutablePointer<CChar>?, Int) -> Int
    ) throws(Errno) -> [UInt8] {
        let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: 64 << 10)
        defer { buffer.deallocate() }
        let count = try retrying(call, path) { body(buffer, 64 << 10) }
        return UnsafeBufferPointer(start: buffer, count: count).map { UInt8(bitPattern: $0) }
    }
}
