internal import CTestSupport
internal import Glibc

/// One accepted connection, owned by the thread that serves it.
///
/// Calls block; `OriginServer.stop()` shuts the socket down, which ends every one of them.
public final class Connection {
    /// Its number; the first that a server accepts is 1.
    public let number: Int
    /// The port of the peer.
    package let peerPort: UInt16
    private let socket: Int32
    private var unread: [UInt8] = []
    private var requests = 0

    package init(socket: Int32, number: Int) {
        self.socket = socket
        peerPort = LoopbackAddress.peer(of: socket) ?? 0
        self.number = number
    }

    /// The next request; nil when the peer is done, or sends what is no HTTP/1.1 request.
    func nextRequest() -> ReceivedRequest? {
        let ending = Array("\r\n\r\n".utf8)
        var searched = 0
        var end: Int?
        repeat {
            end = unread.firstRange(of: ending, from: max(0, searched - 3))
            searched = unread.count
        } while end == nil && searched < 1 << 20 && receive()
        guard let end else { return nil }
        let head = Array(unread[..<end])
        unread.removeFirst(end)
        requests += 1
        guard
            let request = ReceivedRequest(
                head: head, body: [], connection: number, ordinal: requests)
        else { return nil }
        let length = request.value(of: "Content-Length").flatMap { Int($0) } ?? 0
        if length > 0, request.value(of: "Expect")?.lowercased() == "100-continue" {
            guard send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) else { return nil }
        }
        while unread.count < length { guard receive() else { return nil } }
        let body = Array(unread[..<length])
        unread.removeFirst(length)
        return ReceivedRequest(head: head, body: body, connection: number, ordinal: requests)
    }

    private func receive() -> Bool {
        let bytes = [UInt8](unsafeUninitializedCapacity: 65536) { buffer, count in
            count = max(0, recv(socket, buffer.baseAddress, buffer.count, 0))
        }
        unread += bytes
        return !bytes.isEmpty
    }

    /// Sends all bytes; false when the peer has gone.
    public func send(_ bytes: some Sequence<UInt8>) -> Bool {
        let sent: Bool? = bytes.withContiguousStorageIfAvailable { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let slice = UnsafeBufferPointer(rebasing: rest)
                let count = Glibc.send(
                    socket, slice.baseAddress, slice.count, Int32(MSG_NOSIGNAL))
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
        return sent ?? send(Array(bytes))
    }

    /// Waits until the time is over or the peer has gone; says whether the peer is still there.
    public func pause(milliseconds: Int) -> Bool {
        var poll = pollfd(
            fd: socket, events: Int16(bitPattern: 0x2000 /* POLLRDHUP */), revents: 0)
        return Glibc.poll(&poll, 1, Int32(clamping: milliseconds)) == 0
    }

    /// Ends the connection with an RST once the peer's kernel has acknowledged what was sent.
    ///
    /// Without the wait the kernel would drop unsent bytes, and how many arrive would be a matter of
    /// luck (socket(7), SO_LINGER with a time of zero).
    public func reset() {
        for _ in 0..<1000 where test_unacknowledged(socket) > 0 {
            guard pause(milliseconds: 2) else { break }
        }
        var linger = Glibc.linger(l_onoff: 1, l_linger: 0)
        setsockopt(
            socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    }
}

extension Array where Element == UInt8 {
    /// The end of the first occurrence of a pattern at or after an index.
    package func firstRange(of pattern: [UInt8], from start: Int) -> Int? {
        guard count >= pattern.count else { return nil }
        return (start...Swift.max(start, count - pattern.count)).first {
            self[$0...].starts(with: pattern)
        }.map { $0 + pattern.count }
    }
}
