internal import CLinux
internal import Glibc

/// The service manager that started this process, if it asked for status messages (sd_notify(3)).
package struct ServiceManager: Sendable {
    private let socket: String
    /// How often the manager wants an `alive` message, in milliseconds. `nil` if it wants none.
    package let watchdogInterval: Int64?

    /// Finds the manager that the environment names. Returns nil if there is none.
    package init?() {
        guard let socket = ServiceManager.variable("NOTIFY_SOCKET"),
            socket.first == "/" || socket.first == "@"
        else { return nil }
        self.socket = socket
        let isOurs = ServiceManager.variable("WATCHDOG_PID").map { Int32($0) == getpid() } ?? true
        watchdogInterval = ServiceManager.variable("WATCHDOG_USEC")
            .flatMap { isOurs ? Int64($0) : nil }
            // Twice in the manager's interval, as sd_watchdog_enabled(3) advises.
            .map { max(1, $0 / 2000) }
    }

    package enum Message: Sendable, Hashable {
        /// The watch has begun, or continues after a reload.
        case ready
        /// The watch reads its options again.
        case reloading
        /// The watch is about to end.
        case stopping
        /// One line for people.
        case status(String)
        /// The watch still works; the manager restarts a process without this message.
        case alive
    }

    /// Sends a message. If the manager does not accept the message, it is lost.
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
