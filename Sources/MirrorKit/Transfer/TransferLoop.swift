internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// Runs transfers on a thread of its own, which owns all libcurl objects.
///
/// Callers leave messages from any thread. An observer receives the resulting events in order, on
/// the transfer thread. The last event of every job is `ended`. After an event, no other transfer
/// begins before the observer has taken a turn, in which it may cancel it.
final class TransferLoop: Sendable {
    private let inbox: TransferInbox
    private let thread: NativeThread
    private let hasFinished = Semaphore()
    private let isStopped = Atomic(false)

    /// Starts the loop; throws where the system provides no more threads or descriptors.
    ///
    /// - Parameters:
    ///   - remembered: the number of transfers at once that suited each host in earlier runs.
    ///   - remember: called at the end with the numbers of this run.
    ///   - admit: returns the error that forbids a number of further bytes of a target which the
    ///     manifest does not declare; an error ends the transfer. Called on the transfer thread,
    ///     and must return quickly.
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

    /// Has the observer take a turn.
    func wake() { inbox.signal.raise() }

    /// Requests no more bytes of a job until it is resumed; a running job keeps its place.
    func pause(_ id: Int) { inbox.post(.pause(id)) }

    /// Resumes a paused job.
    func resume(_ id: Int) { inbox.post(.resume(id)) }

    /// Requests no more bytes at all until `resumeAll`.
    func pauseAll() { inbox.post(.pauseAll) }

    /// Resumes after `pauseAll`.
    func resumeAll() { inbox.post(.resumeAll) }

    /// Ends jobs; their parts stay for another run unless they are to be discarded.
    ///
    /// They end in one step: none of them gets the place that another one leaves.
    func cancel(_ ids: [Int], discardingPart: Bool) {
        inbox.post(.cancel(ids, discardingPart: discardingPart))
    }

    /// Ends every job; parts stay.
    func cancelAll() { inbox.post(.cancelAll) }

    /// Ends every job and the threads, and waits for that; parts stay.
    func stop() { finish()?.join() }

    /// Ends every job, and waits for that; parts stay. Returns the transfer thread, which still closes its
    /// connections.
    ///
    /// Returns nil the second time.
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
    /// The verified length of an earlier part; no file when nothing of the part can be used.
    case established(Int, PartFile?, length: Int64, rangesBeyond: [Range<Int64>])
    /// The digests of a transfer's bytes; `piecesHold` is nil when no pieces had to be checked.
    case hashed(Int, [Digest], piecesHold: Bool?)
    /// The bytes of a further connection were read back from the part.
    case segmentHeld(Int)
    /// The last milestone of a transfer that ends was logged.
    case settled(Int)
    /// The program was asked for other credentials for a source of a transfer.
    case renewed(Int, source: Int, RenewedHeaders)
    /// A worker failed.
    case broken(Int, MirrorError)
    /// A thread that reads a source file got further.
    case file(FileReading, FileNews)
}

/// Messages on their way to the transfer thread, in order.
final class TransferInbox: Sendable {
    /// Raised with every message.
    let signal: WakeSignal
    private let messages = Mutex<[TransferMessage]>([])

    /// Throws where the process has as many descriptors as it may.
    init() throws(Errno) { signal = try WakeSignal() }

    /// Leaves a message; any thread may call this.
    func post(_ message: TransferMessage) {
        messages.withLock { $0.append(message) }
        signal.raise()
    }

    /// Takes all messages so far.
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
    /// The loop begins.
    func begin(on engine: TransferEngine)
    /// Receives an event of a job; the last one is `ended`. It must not begin or end transfers,
    /// because libcurl may be calling.
    func tell(_ job: TransferJob, _ event: TransferEvent)
    /// Acts on what was told, and on what others told it.
    func takeTurn()
    /// Milliseconds until it has something to do by itself; nil where it has not.
    var timeToWait: Int64? { get }
    /// The loop ends.
    func end()
}

extension TransferObserver {
    func begin(on engine: TransferEngine) {}

    func takeTurn() {}

    var timeToWait: Int64? { nil }

    func end() {}
}
