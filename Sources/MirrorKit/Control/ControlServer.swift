internal import CLinux
internal import Glibc
package import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// Answers requests from other processes of the same user while a run is under way or a watch sleeps.
///
/// The server has a thread of its own, so no client can make the run wait. A follower that does not
/// read is disconnected.
package final class ControlServer: Sendable {
    /// Carries out a request.
    package typealias Handler = @Sendable (ControlRequest) async -> ControlReply

    private enum Message: Sendable {
        /// The answer to a request; a client that asked to follow gets what comes after it.
        case reply(client: Int, [UInt8], follows: Bool)
        case event([UInt8])
        case stop
    }

    private let messages = Mutex<[Message]>([])
    private let signal: WakeSignal
    private let address: ControlAddress
    private let followers = Atomic(0)
    private let thread = Mutex<NativeThread?>(nil)

    /// Listens for requests about a root. Nil if the user has no folder for sockets, or the system
    /// refuses a socket or a thread; a run works without a server.
    package convenience init?(root: String, handler: @escaping Handler) {
        guard let address = ControlAddress.make(forRoot: root) else { return nil }
        self.init(at: address, handler: handler)
    }

    /// Listens at an address.
    init?(at address: ControlAddress, handler: @escaping Handler) {
        guard let signal = try? WakeSignal() else { return nil }
        self.address = address
        self.signal = signal
        unlink(address.path)
        let listener = linux_local_listen(address.path)
        guard listener >= 0 else { return nil }
        let descriptor = Descriptor(owning: listener)
        let made = try? NativeThread("control") { [self] in
            var loop = ControlLoop(listener: descriptor, signal: signal)
            loop.run(server: self, handler: handler)
        }
        guard let made else {
            unlink(address.path)
            return nil
        }
        thread.withLock { $0 = made }
    }

    /// Sends an event to the clients that follow the run.
    package func tell(_ event: Event) {
        guard followers.load(ordering: .relaxed) > 0 else { return }
        var json = JSONWriter()
        EventEncoder(alwaysWithTotals: true).write(event, to: &json)
        json.newline()
        post(.event(json.take()))
    }

    /// Ends the server. Its clients still get the queued bytes that they take within half a second.
    package func stop() {
        let running = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        guard let running else { return }
        post(.stop)
        running.join()
        unlink(address.path)
    }

    private func post(_ message: Message) {
        messages.withLock { $0.append(message) }
        signal.raise()
    }

    /// Passes a client's request on, and its reply back.
    func pass(_ line: [UInt8], of client: Int, to handler: @escaping Handler) {
        let request: ControlRequest
        do throws(ControlRefusal) { request = try ControlRequest(line: line) } catch {
            let line = ControlReply.refused(error.words).line
            return post(.reply(client: client, line, follows: false))
        }
        Task {
            let reply = await handler(request)
            let isJob = if case .job = reply { true } else { false }
            post(.reply(client: client, reply.line, follows: request == .follow && isJob))
        }
    }

    /// Acts on the posted messages; false when the server is to end.
    func deliver(to loop: inout ControlLoop) -> Bool {
        let posted = messages.withLock { messages in
            defer { messages = [] }
            return messages
        }
        var goesOn = true
        for message in posted {
            switch message {
            case .reply(let client, let bytes, let follows):
                loop.reply(bytes, to: client, follows: follows)
            case .event(let bytes): loop.sendToFollowers(bytes)
            case .stop: goesOn = false
            }
        }
        return goesOn
    }

    func note(followers count: Int) { followers.store(count, ordering: .relaxed) }
}
