internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// Runs transfers on a thread of its own, which owns all libcurl objects.
///
/// Callers leave messages from any thread. An observer receives the resulting events in order, on
/// the transfer thread. The last event of every job is `ended`. After an event, no other transfer
/// begins before the observer has had a turn. In its turn the observer may cancel transfers.
final class TransferLoop: Sendable {
    private let inbox: TransferInbox
    private let thread: NativeThread
    private let hasFinished = Semaphore()
    private let isStopped = Atomic(false)

    /// Starts the loop. Throws if the system provides no more threads or descriptors.
    ///
    /// - Parameters:
    ///   - remembered: the number of transfers at once that suited each host in earlier runs.
    ///   - remember: called at the end with the numbers of this run.
    ///   - admit: decides whether a target may receive a number of further bytes that the manifest
    ///     does not declare. It returns nil to allow them. An error ends the transfer. Called on
    ///     the transfer thread, and must return quickly.
    init(
        configuration: Configuration, parts: any PartStore, observer: any TransferObserver,
        remembered: [Host: Int] = [:],
        remember: @escaping @Sendable ([Host: Int]) -> Void = { _ in },
        admit: @escaping @Sendable (Int64, Target) -> MirrorError? = { _, _ in nil }
    ) throws(MirrorError) {
        do throws(Errno) {
            let inbox = try TransferInbox()
            self.inbox = inbox
            thread = try NativeThread("transfers") { [hasFinished] in
                var surroundings = TransferEngine.Surroundings(
                    wire: CurlWire(configuration, signal: inbox.signal), parts: parts,
                    observer: observer, inbox: inbox,
                    workers: WorkPool(name: "pipelines", threads: 2),
                    readers: WorkPool(name: "parts", threads: 2), admit: admit)
                surroundings.remembered = remembered
                surroundings.remember = remember
                let engine = TransferEngine(configuration, surroundings)
                observer.begin(on: engine)
                engine.run()
                observer.end()
                // `finish` does not wait for the connections to close.
                withExtendedLifetime(engine) { hasFinished.post() }
            }
        } catch { throw MirrorError(error) }
    }

    /// Adds jobs to the queue.
    func submit(_ jobs: [TransferJob]) { inbox.post(.submit(jobs)) }

    /// Wakes the loop, so that the observer gets a turn.
    func wake() { inbox.signal.raise() }

    /// Requests no more bytes of a job until it is resumed.
    /// A running job gives its place back if a later request can continue the download. Otherwise
    /// it keeps the place.
    func pause(_ id: Int) { inbox.post(.pause(id)) }

    /// Resumes a paused job.
    func resume(_ id: Int) { inbox.post(.resume(id)) }

    /// Requests no more bytes at all until `resumeAll`.
    func pauseAll() { inbox.post(.pauseAll) }

    /// Resumes after `pauseAll`.
    func resumeAll() { inbox.post(.resumeAll) }

    /// Ends jobs. Their parts stay for another run if `discardingPart` is false.
    ///
    /// The jobs end in one step: no job of the list gets the place that another one leaves.
    func cancel(_ ids: [Int], discardingPart: Bool) {
        inbox.post(.cancel(ids, discardingPart: discardingPart))
    }

    /// Ends every job; parts stay.
    func cancelAll() { inbox.post(.cancelAll) }

    /// Ends every job and the threads, and waits until they have ended; parts stay.
    func stop() { finish()?.join() }

    /// Ends every job, and waits until they have ended; parts stay.
    ///
    /// Returns the transfer thread, which still closes its connections.
    /// Returns nil if it was called before.
    func finish() -> NativeThread? {
        if isStopped.exchange(true, ordering: .acquiringAndReleasing) { return nil }
        inbox.post(.stop)
        hasFinished.wait()
        return thread
    }
}

/// A message to the transfer thread, from callers and from workers.
enum TransferMessage: Sendable {
    case submit([TransferJob])
    case pause(Int)
    case resume(Int)
    case pauseAll
    case resumeAll
    case cancel([Int], discardingPart: Bool)
    case cancelAll
    case stop
    /// A worker has verified an earlier part up to a length.
    /// The file is nil if no byte of the part can be used.
    case established(Int, PartFile?, length: Int64, rangesBeyond: [Range<Int64>])
    /// The digests of a transfer's bytes. `piecesHold` is nil if no pieces had to be checked.
    case hashed(Int, [Digest], piecesHold: Bool?)
    /// The part was read back: it holds the bytes of a further connection.
    case segmentHeld(Int)
    /// The last milestone of an ending transfer was logged.
    case settled(Int)
    /// The program answered a request for other credentials of a source.
    case renewed(Int, source: Int, RenewedHeaders)
    /// A worker failed.
    case broken(Int, MirrorError)
    /// A thread that reads a source file has a result.
    case file(FileReading, FileNews)
}

/// The messages to the transfer thread, in order.
final class TransferInbox: Sendable {
    /// Raised with every message.
    let signal: WakeSignal
    private let messages = Mutex<[TransferMessage]>([])

    /// Makes an empty inbox. Throws if the process has no descriptors left.
    init() throws(Errno) { signal = try WakeSignal() }

    /// Leaves a message; any thread may call this.
    func post(_ message: TransferMessage) {
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

/// Receives the events of transfers on the transfer thread.
protocol TransferObserver: Sendable {
    /// Called when the loop begins.
    func begin(on engine: TransferEngine)
    /// Receives an event of a job; the last event is `ended`.
    /// The observer must not begin or end transfers here, because the call may come from a callback
    /// of libcurl.
    func tell(_ job: TransferJob, _ event: TransferEvent)
    /// Acts on the events since the last turn, and on messages from other threads.
    func takeTurn()
    /// Milliseconds until the observer needs a turn. `nil` means that only an event causes a turn.
    var timeToWait: Int64? { get }
    /// Called when the loop ends.
    func end()
}

extension TransferObserver {
    func begin(on engine: TransferEngine) {}

    func takeTurn() {}

    var timeToWait: Int64? { nil }

    func end() {}
}
