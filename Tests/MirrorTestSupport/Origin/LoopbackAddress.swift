internal import Glibc

/// Ports of 127.0.0.1.
enum LoopbackAddress {
    /// Binds a socket to a port, or to any free one for 0; gives the port, nil on an error.
    static func bind(_ socket: Int32, port: UInt16) -> UInt16? {
        withAddress(of: port) { address, length in
            Glibc.bind(socket, address, length) == 0
                && getsockname(socket, address, &length) == 0
        }
    }

    /// Connects a socket to a port; false when nobody accepts.
    static func connect(_ socket: Int32, port: UInt16) -> Bool {
        withAddress(of: port) { Glibc.connect(socket, $0, $1) == 0 } != nil
    }

    /// The port at the other end of a connected socket; nil when it is gone.
    static func peer(of socket: Int32) -> UInt16? {
        withAddress(of: 0) { getpeername(socket, $0, &$1) == 0 }
    }

    /// Calls with the address of a port; gives the port that is in it afterwards, nil for false.
    private static func withAddress(
        of port: UInt16, _ body: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Bool
    ) -> UInt16? {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isDone = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &length) }
        }
        return isDone ? UInt16(bigEndian: address.sin_port) : nil
    }
}

/// A port that is taken and refuses connections, for sources that cannot be reached.
public final class ClosedPort: Sendable {
    private let socket: Int32
    /// The port.
    public let port: UInt16

    /// Takes any free port and never listens on it.
    public init() throws(ListenFailure) {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0, let port = LoopbackAddress.bind(socket, port: 0) else {
            throw ListenFailure(description: "bind(2) on 127.0.0.1: errno \(errno)")
        }
        self.port = port
    }

    deinit { close(socket) }
}
