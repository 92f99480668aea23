internal import CLinux
internal import Glibc
internal import MirrorSystem
internal import Synchronization

/// A connection to another process of mirror.
package final class ControlClient: Sendable {
    /// The process at the other end.
    package let process: Int32
    /// Nil where the process accepts no connection.
    private let descriptor: Descriptor?

    private let hasTimedOut = Atomic<Bool>(false)

    /// Seconds to wait for a reply.
    package static let patience = 5
    /// How often it is tried to connect, and microseconds between two times.
    private static let (attempts, pause) = (20, UInt32(50_000))

    private init(process: Int32, descriptor: Descriptor?) {
        self.process = process
        self.descriptor = descriptor
    }

    /// Connections to all processes of this user, or to those that work for a root.
    ///
    /// A socket that a killed process left is removed. A process that is stopped accepts no connection,
    /// or answers nothing.
    package static func all(ofRoot root: String? = nil) -> [ControlClient] {
        ControlAddress.all(ofRoot: root).compactMap { address in
            let (client, failure) = connect(to: address)
            if failure == ECONNREFUSED, kill(address.process, 0) != 0, errno == ESRCH {
                unlink(address.path)
            }
            return client
        }
    }

    /// Connects to a process; gives the number of the error where nobody is there.
    static func connect(to address: ControlAddress) -> (client: ControlClient?, failure: Int32) {
        var number = linux_local_connect(address.path)
        // Many may connect at one time.
        for _ in 1..<attempts where number == -EAGAIN {
            usleep(pause)
            number = linux_local_connect(address.path)
        }
        guard number >= 0 || number == -EAGAIN else { return (nil, -number) }
        let descriptor = number >= 0 ? Descriptor(owning: number) : nil
        return (ControlClient(process: address.process, descriptor: descriptor), 0)
    }

    /// Whether the process is there and did not answer in time, unlike one that has just ended.
    package var isSilent: Bool { descriptor == nil || hasTimedOut.load(ordering: .relaxed) }

    /// Sends a request and waits for its reply; nil if the other process ends, or does not reply
    /// within so many seconds. Blocks.
    package func ask(
        _ request: ControlRequest, waitingSeconds seconds: Int = ControlClient.patience
    ) -> ControlReply? {
        guard send(request), let line = line(waitingSeconds: seconds) else {
            return nil
        }
        return ControlReply(line: line)
    }

    /// Sends a request.
    package func send(_ request: ControlRequest) -> Bool {
        guard let descriptor else { return false }
        var rest = request.line[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// The lines that arrive after a request to follow a run, until the other process is done.
    package func lines() -> AsyncStream<[UInt8]> {
        AsyncStream { [self] in try? await Offload.run { self.line(waitingSeconds: nil) } }
    }

    private let received = LineInbox()

    private func line(waitingSeconds seconds: Int?) -> [UInt8]? {
        guard let descriptor else { return nil }
        while true {
            if let line = received.take() { return line }
            var entry = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
            let limit = seconds.map { Int32($0 * 1000) } ?? -1
            let ready = poll(&entry, 1, limit)
            if ready < 0, errno == EINTR { continue }
            if ready == 0 { hasTimedOut.store(true, ordering: .relaxed) }
            guard ready > 0 else { return nil }
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            let count = buffer.withUnsafeMutableBytes {
                read(descriptor.number, $0.baseAddress, $0.count)
            }
            guard count > 0 else { return nil }
            received.add(buffer[..<count])
        }
    }
}
