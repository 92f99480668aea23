internal import Glibc

/// Ports of 127.0.0.1 for servers that are programs of their own.
public enum LoopbackPort {
    /// A port that was free a moment ago; nil when there is none.
    public static func free() -> UInt16? {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return nil }
        defer { close(socket) }
        return LoopbackAddress.bind(socket, port: 0)
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
