internal import CTestSupport
internal import Glibc
internal import Synchronization

/// A socket that takes what a service tells its manager (sd_notify(3)).
package final class NotifySocket: Sendable {
    /// The path, for NOTIFY_SOCKET.
    package let path: String
    private let descriptor: Int32
    private let heard = Mutex<[String]>([])

    /// Binds it.
    package init(at path: String) throws {
        self.path = path
        descriptor = test_bind_datagram(path)
        guard descriptor >= 0 else { throw SystemFailure("bind", path, errno: errno) }
    }

    deinit { close(descriptor) }

    /// Every message so far.
    package var messages: [String] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard count > 0 else { break }
            let text = String(decoding: buffer[..<count], as: UTF8.self)
            heard.withLock { $0.append(text) }
        }
        return heard.withLock { $0 }
    }

    /// Whether such a message comes within a minute.
    package func hears(_ isIt: (String) -> Bool) -> Bool {
        for _ in 0..<1200 {
            if messages.contains(where: isIt) { return true }
            Pause.milliseconds(50)
        }
        return false
    }
}
