internal import CLinux
internal import Glibc

/// The service manager that started this process, if it asked for status messages (sd_notify(3)).
package struct ServiceManager: Sendable {
    private let socket: String
    /// How often it wants a sign of life, in milliseconds; nil if it wants none.
    package let watchdogInterval: Int64?

    /// The manager that the environment names; nil if there is none.
    package init?() {
        guard let socket = ServiceManager.variable("NOTIFY_SOCKET"),
            socket.first == "/" || socket.first == "@"
        else { return nil }
        self.socket = socket
        let isOurs = ServiceManager.variable("WATCHDOG_PID").map { Int32($0) == getpid() } ?? true
        watchdogInterval = ServiceManager.variable("WATCHDOG_USEC")
            .flatMap { isOurs ? Int64($0) : nil }
            // Twice as often as it must be, as sd_watchdog_enabled(3) advises.
            .map { max(1, $0 / 2000) }
    }

    package enum Message: Sendable, Hashable {
        /// The watch has begun, or goes on after a reload.
        case ready
        /// Options are read again.
        case reloading
        /// The watch is about to end.
        case stopping
        /// One line for people.
        case status(String)
        /// A sign of life.
        case alive
    }

    /// Sends a message; one that is not accepted is lost.
    package func tell(_ message: Message) {
        let bytes = Array(ServiceManager.text(message).utf8)
        _ = bytes.withUnsafeBytes { linux_notify(socket, $0.baseAddress, $0.count) }
    }

    static func text(_ message: Message) -> String {
        switch message {
        case .ready: return "READY=1"
        case .reloading:
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            return "RELOADING=1\nMONOTONIC_USEC=\(time.tv_sec * 1_000_000 + time.tv_nsec / 1000)"
        case .stopping: return "STOPPING=1"
        case .status(let text):
            return "STATUS=" + text.split(whereSeparator: \.isNewline).joined(separator: " ")
        case .alive: return "WATCHDOG=1"
        }
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}
