internal import Synchronization

/// Runs transfers on a thread of its own, which owns all libcurl objects.
///
/// Other threads leave messages. An observer receives the resulting events in order, on the transfer
/// thread. The last event of every download is `ended`. After an event, no other download begins
/// before the observer has had a turn. In its turn the observer may cancel downloads.
final class TransferLoop: Sendable {
    private let inbox: TransferInbox
    private let thread: NativeThread
    private let hasFinished = Semaphore()
    private let isStopped = Atomic(false)

    /// Starts the loop. Throws if the system provides no more threads or descriptors.
    ///
    /// - Parameters:
    ///   - remembered: the number of downloads at once that suited each host in earlier runs.
    ///   - remember: called at the end with the numbers of this run.
    init(
        configuration: Configuration, parts: any PartStore, observer: any TransferObserver,
        remembered: [Host: Int] = [:],
        remember: @escaping @Sendable ([Host: Int]) -> Void = { _ in }
    ) throws(MirrorError) {
        do throws(Errno) {
            let inbox = try TransferInbox()
            self.inbox = inbox
            thread = try NativeThread("transfers") { [hasFinished] in
                var surroundings = TransferEngine.Surroundings(
                    wire: CurlWire(configuration, signal: inbox.signal), parts: parts,
                    observer: observer, inbox: inbox,
                    workers: WorkPool(name: "pipelines", threads: 2),
                    readers: WorkPool(name: "parts", threads: 2))
                surroundings.remembered = remembered
                surroundings.remember = remember
                let engine = TransferEngine(configuration, surroundings)
                engine.run()
                // `finish` does not wait for the connections to close.
                withExtendedLifetime(engine) { hasFinished.post() }
            }
        } catch { throw MirrorError(error) }
    }

    /// Runs work on the thread of transfers, before the loop goes on.
    func perform(_ work: @escaping TransferMessage) { inbox.post(work) }

    /// Ends every download and the threads, and waits until they have ended; parts stay.
    func stop() { finish()?.join() }

    /// Ends every download, and waits until they have ended; parts stay.
    ///
    /// Returns the transfer thread, which still closes its connections.
    /// Returns nil if it was called before.
    func finish() -> NativeThread? {
        if isStopped.exchange(true, ordering: .acquiringAndReleasing) { return nil }
        inbox.post { $0.stop() }
        hasFinished.wait()
        return thread
    }
}

/// A message to the thread of transfers: what it is to do, with the results of another thread.
typealias TransferMessage = @Sendable (TransferEngine) -> Void

/// The messages to the transfer thread, in order.
final class TransferInbox: Sendable {
    /// Raised with every message.
    let signal: WakeSignal
    private let messages = Mutex<[TransferMessage]>([])

    /// Makes an empty inbox. Throws if the process has no descriptors left.
    init() throws(Errno) { signal = try WakeSignal() }

    /// Leaves a message; any thread may call this.
    func post(_ message: @escaping TransferMessage) {
        messages.withLock { $0.append(message) }
        signal.raise()
    }

    /// Removes and returns all messages so far.
    func take() -> [TransferMessage] {
        signal.clear()
        return messages.withLock { messages in
            defer { messages = [] }
            return messages
        }
    }
}

/// Receives the events of downloads on the transfer thread.
protocol TransferObserver: Sendable {
    /// Receives an event of a download; the last event is `ended`.
    /// The observer must not begin or end transfers here, because the call may come from a callback
    /// of libcurl.
    func tell(_ download: Download, _ event: TransferEvent)
    /// Returns why there is no room for a body. Returns nil to let its bytes come.
    ///
    /// The call may come from a callback of libcurl.
    ///
    /// - Parameters:
    ///   - bytes: the bytes that will come. `nil` means that their number is not known, and that
    ///     the disk was found full.
    ///   - size: the size of the whole file, where known.
    ///   - reserved: the bytes that the bodies under way still bring, by their areas.
    func lackOfRoom(
        for bytes: Int64?, ofFileOf size: Int64?, _ download: Download,
        reserved: () -> [Area: Int64]
    ) -> Reason?
    /// Acts on the events since the last turn, and on messages from other threads.
    func takeTurn()
    /// Milliseconds until the observer needs a turn. `nil` means that only an event causes a turn.
    var timeToWait: Int64? { get }
}

extension TransferObserver {
    func lackOfRoom(
        for bytes: Int64?, ofFileOf size: Int64?, _ download: Download,
        reserved: () -> [Area: Int64]
    ) -> Reason? { nil }

    func takeTurn() {}

    var timeToWait: Int64? { nil }
}
