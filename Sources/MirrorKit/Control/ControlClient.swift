internal import CLinux
internal import Glibc
internal import Synchronization

/// A connection to another process of mirror.
package final class ControlClient: Sendable {
    /// The process at the other end.
    package let process: Int32
    /// The connection. `nil` if the process does not accept one.
    private let descriptor: Descriptor?

    private let hasTimedOut = Atomic<Bool>(false)

    /// Seconds to wait for a reply.
    static let patience = 5
    /// `attempts`: how often a connection is tried; `pause`: the microseconds between two attempts.
    private static let (attempts, pause) = (20, UInt32(50_000))

    private init(process: Int32, descriptor: Descriptor?) {
        self.process = process
        self.descriptor = descriptor
    }

    /// Connections to all processes of this user, or to the processes that work for a root.
    ///
    /// A socket that a killed process left is removed. A stopped process (SIGSTOP) accepts no
    /// connection, or sends no reply.
    package static func all(ofRoot root: String? = nil) -> [ControlClient] {
        ControlAddress.all(ofRoot: root).compactMap { address in
            let (client, failure) = connect(to: address)
            if failure == ECONNREFUSED, kill(address.process, 0) != 0, errno == ESRCH {
                unlink(address.path)
            }
            return client
        }
    }

    /// Connects to a process. Returns no client and the errno value if no process listens.
    static func connect(to address: ControlAddress) -> (client: ControlClient?, failure: Int32) {
        var number = linux_local_connect(address.path)
        // The listener's queue is full while many clients connect at one time.
        for _ in 1..<attempts where number == -EAGAIN {
            usleep(pause)
            number = linux_local_connect(address.path)
        }
        guard number >= 0 || number == -EAGAIN else { return (nil, -number) }
        let descriptor = number >= 0 ? Descriptor(owning: number) : nil
        return (ControlClient(process: address.process, descriptor: descriptor), 0)
    }

    /// Whether the process exists but did not reply in time; a process that has ended is not
    /// silent.
    package var isSilent: Bool { descriptor == nil || hasTimedOut.load(ordering: .relaxed) }

    /// Sends a request and waits for its reply. Blocks the calling thread.
    ///
    /// Returns nil if the other process ends, or does not reply within `seconds`.
    package func ask(
        _ request: ControlRequest, waitingSeconds seconds: Int = ControlClient.patience
    ) -> ControlReply? {
        guard send(request), let line = line(waitingSeconds: seconds) else {
            return nil
        }
        return ControlReply(line: line)
    }

    /// Sends a request. Returns false if the process does not accept the request.
    func send(_ request: ControlRequest) -> Bool {
        guard let descriptor else { return false }
        var rest = request.line[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// The lines that arrive after a request to follow a run, until the connection ends.
    package func lines() -> AsyncStream<[UInt8]> {
        AsyncStream { [self] in try? await Offload.run { self.line(waitingSeconds: nil) } }
    }

    private let received = Mutex(LineInbox())

    private func line(waitingSeconds seconds: Int?) -> [UInt8]? {
        guard let descriptor else { return nil }
        while true {
            if let line = received.withLock({ $0.take() }) { return line }
            var entry = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
            let limit = seconds.map { Int32($0 * 1000) } ?? -1
            let ready = poll(&entry, 1, limit)
            if ready < 0, errno == EINTR { continue }
            if ready == 0 { hasTimedOut.store(true, ordering: .relaxed) }
            guard ready > 0 else { return nil }
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            let count = buffer.withUnsafeMutableBytes {
                read(descriptor.number, $0.baseAddress, $0.count)
            }
            guard count > 0 else { return nil }
            received.withLock { $0.bytes += buffer[..<count] }
        }
    }
}

/// The socket at which a process of this user answers requests.
///
/// The socket's name has the process id, and the root's device and inode, so that every path of a
/// root leads to the socket. The socket is never in the root: a tree may be copied, or be on a file
/// system without sockets.
package struct ControlAddress: Sendable, Hashable {
    /// The path of the socket.
    let path: String
    /// The process that listens there.
    let process: Int32
    fileprivate let device: UInt64
    fileprivate let inode: UInt64

    /// The address of this process for a root.
    ///
    /// Returns nil if the user has no folder for sockets, or if others have rights to that folder.
    static func make(forRoot root: String) -> ControlAddress? {
        madeFolder().flatMap { make(forRoot: root, in: $0) }
    }

    /// The address of this process for a root, in the given folder. Returns nil without a root.
    static func make(forRoot root: String, in folder: String) -> ControlAddress? {
        var status = stat()
        guard stat(root, &status) == 0 else { return nil }
        let (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
        let name =
            "\(String(device, radix: 16))-\(String(inode, radix: 16))-\(getpid()).sock"
        return ControlAddress(
            path: folder + "/" + name, process: getpid(), device: device, inode: inode)
    }

    /// The addresses of all processes of this user, or of the processes that work for a root.
    static func all(ofRoot root: String? = nil) -> [ControlAddress] {
        var wanted: stat?
        if let root {
            var status = stat()
            guard stat(root, &status) == 0 else { return [] }
            wanted = status
        }
        return folders().filter { isOurs($0.folder, mode: 0o077) }
            .flatMap { all(in: $0.folder, wanted) }
            .sorted { $0.process < $1.process }
    }

    /// Returns why the sockets of runs cannot be looked for. Returns nil if they can.
    package static var obstacle: String? {
        for (_, folder) in folders() {
            var status = stat()
            if lstat(folder, &status) != 0 || isOurs(folder, mode: 0o077) { continue }
            return
                "\(folder.printable): others have rights to this folder or own it, so runs cannot be looked for there. Remove it, or set XDG_RUNTIME_DIR."
        }
        return nil
    }

    private static func all(in folder: String, _ wanted: stat?) -> [ControlAddress] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
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
        return addresses
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

    /// The folders that may have sockets, the preferred one first, each with the folder above it.
    ///
    /// `$XDG_RUNTIME_DIR/mirror`, `/run/user/UID/mirror`, and `mirror-UID` in the folder for
    /// temporary files, for services and containers that have neither. A process looks in all of
    /// them, because another one may have been started with another environment.
    private static func folders() -> [(above: String?, folder: String)] {
        let value = { (name: String) in
            getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        let user = "\(geteuid())"
        var folders = [value("XDG_RUNTIME_DIR"), "/run/user/" + user].compactMap(\.self)
            .map { (above: Optional($0), folder: $0 + "/mirror") }
        folders.append((nil, (value("TMPDIR") ?? "/tmp") + "/mirror-" + user))
        return folders
    }

    /// Makes the first of the folders that this user can have.
    ///
    /// Returns nil if others than this user have rights to it (XDG Base Directory Specification).
    private static func madeFolder() -> String? {
        for (above, folder) in folders() {
            if let above, !isOurs(above, mode: 0o022) { continue }
            mkdir(folder, 0o700)
            return isOurs(folder, mode: 0o077) ? folder : nil
        }
        return nil
    }

    /// Whether this user owns a folder whose mode has none of these bits.
    private static func isOurs(_ folder: String, mode: mode_t) -> Bool {
        var status = stat()
        return lstat(folder, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            && status.st_uid == geteuid() && status.st_mode & mode == 0
    }
}

/// Received bytes, which `take` returns line by line.
private struct LineInbox {
    var bytes: [UInt8] = []
    /// The position in `bytes` at which the next line begins.
    private var start = 0

    /// The next whole line, without its line break. Returns nil if there is none.
    mutating func take() -> [UInt8]? {
        guard let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) else {
            bytes.removeFirst(start)
            start = 0
            return nil
        }
        defer { start = end + 1 }
        return Array(bytes[start..<end])
    }
}
