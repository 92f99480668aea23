internal import MirrorSystem
internal import Synchronization

/// The threads that a transfer loop has for itself, and their messages.
///
/// Who expects requests starts the transfer thread before it knows of a loop, and one of the two loads
/// meanwhile what requests are made with. It starts one for the session's next call first, because
/// pthread_create(3) waits for a dlopen(3) under way.
final class TransferThreads: Sendable {
    private struct Spare {
        /// Those that wait for a loop.
        var waiting: [TransferThreads] = []
        /// Whether some were started before they were needed.
        var wasPrepared = false
    }

    private static let spare = Mutex(Spare())

    let inbox: TransferInbox
    /// Threads that write and hash bytes, and that read parts.
    let workers: WorkPool
    let readers: WorkPool
    private let loop: LoopSlot
    private let thread: NativeThread

    /// Starts the threads of the next loop, and loads what requests are made with; once in a process.
    ///
    /// - Parameters:
    ///   - forTLS: whether the first request is likely one over TLS, for which more is prepared.
    ///   - thread: who loads it.
    static func prepare(forTLS: Bool, on thread: TransferLoop.LoadingThread) {
        let load: @Sendable () -> Void = {
            Offload.prepareThread()
            _ = CurlLibrary.functions
            if forTLS { CurlLibrary.prepareTLS() }
        }
        let isFirst = spare.withLock { spare -> Bool in
            guard !spare.wasPrepared else { return false }
            spare.wasPrepared = true
            guard spare.waiting.isEmpty else { return false }
            // Without them, the next loop starts its own.
            guard let made = try? TransferThreads({ if thread == .transfers { load() } }) else {
                return false
            }
            spare.waiting.append(made)
            return true
        }
        if isFirst, thread == .caller { load() }
    }

    /// The threads that wait for a loop, or new ones. Throws where the system provides no more threads
    /// or descriptors.
    static func take() throws(Errno) -> TransferThreads {
        if let ready = spare.withLock({ $0.waiting.popLast() }) { return ready }
        return try TransferThreads {}
    }

    /// - Parameter prepare: what the transfer thread does before it takes a loop.
    init(_ prepare: @escaping @Sendable () -> Void) throws(Errno) {
        inbox = try TransferInbox()
        workers = WorkPool(name: "pipelines", threads: 2)
        readers = WorkPool(name: "parts", threads: 2)
        let loop = LoopSlot()
        self.loop = loop
        thread = try NativeThread("transfers") {
            prepare()
            loop.run()
        }
    }

    /// Lets the transfer thread run a loop, once. It has finished when it returns a value, which is freed
    /// on the thread.
    func begin(_ loop: @escaping @Sendable () -> AnyObject) { self.loop.put(loop) }

    /// Takes back a loop that the thread has not taken yet, with its messages; false where it has.
    func withdraw() -> Bool {
        guard loop.withdraw() else { return false }
        _ = inbox.take()
        return true
    }

    /// Lets the threads wait for another loop, after the one that they had was taken back.
    func waitForAnother() { TransferThreads.spare.withLock { $0.waiting.append(self) } }

    /// Waits until the loop has finished. Returns the thread, which still frees what the loop had.
    func waitForLoop() -> NativeThread {
        loop.waitForEnd()
        return thread
    }
}

/// The loop that a thread runs when it is known.
private final class LoopSlot: Sendable {
    private let loop = Mutex<(@Sendable () -> AnyObject)?>(nil)
    private let isThere = Semaphore()
    private let hasFinished = Semaphore()

    func put(_ loop: @escaping @Sendable () -> AnyObject) {
        self.loop.withLock { $0 = loop }
        isThere.post()
    }

    func withdraw() -> Bool { loop.withLock { $0.take() } != nil }

    func run() {
        var loop: (@Sendable () -> AnyObject)?
        repeat {
            isThere.wait()
            loop = self.loop.withLock { $0.take() }
        } while loop == nil
        withExtendedLifetime(loop?()) { hasFinished.post() }
    }

    func waitForEnd() { hasFinished.wait() }
}
