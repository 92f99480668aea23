internal import CTestSupport
internal import Glibc

/// A connection to a socket of this machine, for sending it what no proper client would.
package final class LocalSocket: Sendable {
    private let descriptor: Int32

    /// Connects; where that fails, nothing can be sent.
    package init(connectingTo path: String) { descriptor = test_connect_local(path) }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Sends bytes; false when the other end has gone.
    package func send(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) == $0.count
        }
    }

    /// Closes the side that sends.
    package func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// The next bytes as text, within ten seconds.
    package func receive() -> String {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, 10_000) > 0 else { return "" }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : ""
    }
}
