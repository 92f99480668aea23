internal import CLinux
internal import Glibc
internal import MirrorSystem

/// The socket at which a process of this user answers requests.
///
/// The socket's name has the root's device and inode, so that every path of a root leads to it, and
/// the process id. The socket never lies in the root, because a tree may be on a file system
/// without sockets, and may be copied.
package struct ControlAddress: Sendable, Hashable {
    /// The path of the socket.
    let path: String
    /// The process that listens there.
    let process: Int32
    fileprivate let device: UInt64
    fileprivate let inode: UInt64

    /// The address of this process for a root; nil if the user has no folder for sockets, or others
    /// have rights to it.
    static func make(forRoot root: String) -> ControlAddress? {
        folder(making: true).flatMap { make(forRoot: root, in: $0) }
    }

    /// The address of this process for a root, in a folder for sockets.
    static func make(forRoot root: String, in folder: String) -> ControlAddress? {
        var status = stat()
        guard stat(root, &status) == 0 else { return nil }
        let (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
        let name =
            "\(String(device, radix: 16))-\(String(inode, radix: 16))-\(getpid()).sock"
        return ControlAddress(
            path: folder + "/" + name, process: getpid(), device: device, inode: inode)
    }

    /// The addresses of all processes of this user, or of those that work for a root.
    static func all(ofRoot root: String? = nil) -> [ControlAddress] {
        guard let folder = folder(making: false), let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var wanted: stat?
        if let root {
            var status = stat()
            guard stat(root, &status) == 0 else { return [] }
            wanted = status
        }
        var addresses: [ControlAddress] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard let address = ControlAddress(name, in: folder) else { continue }
            if let wanted {
                guard address.device == UInt64(wanted.st_dev),
                    address.inode == UInt64(wanted.st_ino)
                else { continue }
            }
            addresses.append(address)
        }
        return addresses.sorted { $0.process < $1.process }
    }

    private init(path: String, process: Int32, device: UInt64, inode: UInt64) {
        self.path = path
        self.process = process
        self.device = device
        self.inode = inode
    }

    private init?(_ name: String, in folder: String) {
        guard name.hasSuffix(".sock") else { return nil }
        let parts = name.dropLast(5).split(separator: "-")
        guard parts.count == 3, let device = UInt64(parts[0], radix: 16),
            let inode = UInt64(parts[1], radix: 16), let process = Int32(parts[2])
        else { return nil }
        self.init(path: folder + "/" + name, process: process, device: device, inode: inode)
    }

    /// `$XDG_RUNTIME_DIR/mirror`, else `/run/user/UID/mirror`; nil where that is not this user's
    /// alone (XDG Base Directory Specification).
    private static func folder(making: Bool) -> String? {
        let named = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) } ?? ""
        let above = named.hasPrefix("/") ? named : "/run/user/\(geteuid())"
        let folder = above + "/mirror"
        if making, isOurs(above, mode: 0o022) { mkdir(folder, 0o700) }
        return isOurs(folder, mode: 0o077) ? folder : nil
    }

    /// Whether this user owns a folder, and its mode has none of these bits.
    private static func isOurs(_ folder: String, mode: mode_t) -> Bool {
        var status = stat()
        return lstat(folder, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            && status.st_uid == geteuid() && status.st_mode & mode == 0
    }
}
