internal import CLinux
internal import Glibc
internal import MirrorSystem

/// A client of a control server: the bytes that it has sent, and those that wait for it.
struct ControlConnection {
    /// The most bytes that wait for a client.
    private static let mostWaiting = 4 << 20
    /// How many bytes are sent at once rather than a few at a time.
    private static let worthSending = 64 << 10

    let descriptor: Descriptor
    private(set) var isFollower = false
    /// Whether nobody is there to take anything.
    var isGone = false
    /// Whether nothing more is read from it.
    private var isAtEnd = false
    /// How many of its requests are not answered.
    private var unanswered = 0
    private var received: [UInt8] = []
    private var waiting: [UInt8] = []
    /// How many of the bytes that wait were taken.
    private var taken = 0

    init(descriptor: Descriptor) { self.descriptor = descriptor }

    /// Whether bytes wait for it.
    var waits: Bool { taken < waiting.count }

    /// What poll(2) is to tell of it.
    var events: Int16 { Int16((isAtEnd ? 0 : POLLIN) | (waits ? POLLOUT : 0)) }

    /// Whether it needs nothing more. One that has closed its side for writing still gets its answers,
    /// and what it follows.
    var isOver: Bool { isGone || isAtEnd && unanswered == 0 && !waits && !isFollower }

    /// Queues the answer to a request.
    mutating func answer(_ bytes: [UInt8], follows: Bool) {
        unanswered -= 1
        if follows { isFollower = true }
        waiting += bytes
        if waiting.count - taken > ControlConnection.mostWaiting { isGone = true }
    }

    /// Queues bytes of what it follows; false when it has not read for too long.
    mutating func queue(_ bytes: [UInt8]) -> Bool {
        waiting += bytes
        if waiting.count - taken > ControlConnection.worthSending { flush() }
        return waiting.count - taken <= ControlConnection.mostWaiting
    }

    /// Takes what has arrived.
    mutating func receive() {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while !isAtEnd, received.count <= ControlRequest.longestLine {
            let count = buffer.withUnsafeMutableBytes {
                read(descriptor.number, $0.baseAddress, $0.count)
            }
            if count > 0 {
                received += buffer[..<count]
            } else if count < 0, errno == EAGAIN || errno == EINTR {
                return
            } else {
                isAtEnd = true
            }
        }
    }

    /// The next whole line, without its line break.
    mutating func takeLine() -> [UInt8]? {
        guard let end = received.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        defer { received.removeFirst(end + 1) }
        unanswered += 1
        return Array(received[..<end])
    }

    /// Answers a line that is longer than any request, and reads no more.
    mutating func refuseOverlong() {
        guard !isAtEnd, received.count > ControlRequest.longestLine else { return }
        let limit = ControlRequest.longestLine >> 10
        waiting += ControlReply.refused("the request is longer than \(limit) KiB").line
        isAtEnd = true
    }

    /// Sends as much as the client takes now.
    mutating func flush() {
        while waits {
            let count = waiting.withUnsafeBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[taken...])
                return Glibc.send(
                    descriptor.number, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 {
                if errno == EINTR { continue }
                if errno != EAGAIN { isGone = true }
                break
            }
            taken += count
        }
        if !waits {
            waiting.removeAll(keepingCapacity: waiting.count < ControlConnection.worthSending)
            taken = 0
        } else if taken > ControlConnection.mostWaiting / 4 {
            waiting.removeFirst(taken)
            taken = 0
        }
    }
}
