internal import Glibc
internal import Synchronization

/// Ports of 127.0.0.1 for servers that are programs of their own.
public enum LoopbackPort {
    /// Below the ports that Linux gives to connections and to servers that ask for any port (32768 and up).
    private static let range: Range<UInt16> = 16_384..<32_768
    /// The next port to try. It begins at a random one, because other tests may run on this machine.
    private static let next = Atomic(UInt16.random(in: range))

    /// A free port that this process has not given out before; nil when there is none.
    ///
    /// A port of the kernel's choice is free again once its socket is closed, so two servers that start
    /// at the same time could get the same one. With SO_REUSEPORT, as nghttpx sets it, both would
    /// listen there.
    public static func free() -> UInt16? {
        for _ in range {
            let (port, _) = next.wrappingAdd(1, ordering: .relaxed)
            guard range.contains(port) else {
                next.store(range.lowerBound, ordering: .relaxed)
                continue
            }
            let socket = Glibc.socket(
                AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            guard socket >= 0 else { return nil }
            defer { close(socket) }
            if LoopbackAddress.bind(socket, port: port) != nil { return port }
        }
        return nil
    }

    /// Waits until a server accepts connections; false when it does not within ten seconds.
    public static func waitForServer(on port: UInt16) -> Bool {
        for _ in 0..<1000 {
            let socket = Glibc.socket(
                AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            defer { close(socket) }
            if LoopbackAddress.connect(socket, port: port) { return true }
            usleep(10_000)
        }
        return false
    }
}
