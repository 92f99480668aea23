internal import CTestSupport
internal import Glibc

/// A client that sends exactly the bytes that it is told, and reads when it is told.
public final class LoopbackClient: Sendable {
    private let socket: Int32

    /// Connects to a port of 127.0.0.1; nil when nobody accepts.
    ///
    /// - Parameter receiveBuffer: the bytes that the kernel keeps unread; nil is the usual number.
    public init?(port: UInt16, receiveBuffer: Int32? = nil) {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        if var size = receiveBuffer {
            setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, 4)
        }
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(
            socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard socket >= 0, LoopbackAddress.connect(socket, port: port) else {
            close(socket)
            return nil
        }
    }

    deinit { close(socket) }

    /// Sends a text; false when the other end is gone.
    @discardableResult
    public func send(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return Glibc.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    /// Reads at most so many bytes; none at the end.
    public func read(_ most: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            count = max(0, recv(socket, buffer.baseAddress, most, 0))
        }
    }

    /// Reads up to the end, or to an error.
    public func readAll() -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let block = read(1 << 18)
            if block.isEmpty { return bytes }
            bytes += block
        }
    }

    /// Sends a request that ends the connection, and reads the whole answer.
    public static func exchange(_ request: String, port: UInt16) -> String? {
        guard let client = LoopbackClient(port: port), client.send(request) else { return nil }
        return String(decoding: client.readAll(), as: UTF8.self)
    }
}
