internal import MirrorModel
internal import Synchronization

/// Takes what the transfer thread has to tell.
protocol NewsReceiver: Sendable {
    /// Has news of a job told.
    func tell(_ job: TransferJob, _ news: TransferNews)
    /// Has it told that no transfer is running any more.
    func tellIdle()
    /// The bytes in memory that wait to be told of.
    var bytesWaiting: Int { get }
    /// Waits until failures that end everything were told of; false when there are none to be told.
    func settleFailures() -> Bool
}

/// Tells what the transfer thread has to tell, in order, on a thread of its own.
///
/// Whoever hears of an end settles it there: rows, landings, the next jobs. That is a quarter as much work
/// as the rest of a small file's request, and is done beside it. While news come all the time the thread
/// looks for them once in a millisecond, because to be woken for each would cost the transfer thread a
/// system call; after a quiet time the first one wakes it.
final class NewsRelay: NewsReceiver {
    /// For how many milliseconds news gather.
    private static let pause: Int32 = 1

    private enum Item {
        case news(Int, TransferNews)
        /// News that were told.
        case told
        case idle
        /// Everything before it was told.
        case mark(Semaphore)
        case end
    }

    private struct Waiting {
        var items: [Item] = []
        /// Bytes of bodies in memory among them.
        var bytes = 0
        /// Whether failures that end everything are among them, or being told.
        var hasFailures = false
        var isAsleep = false
    }

    private let hooks: TransferLoop.Hooks
    private let waiting = Mutex(Waiting())
    private let signal: WakeSignal
    private let thread = Mutex<NativeThread?>(nil)

    /// Starts the thread. Throws where the system gives no more of them; `stop` must be called in the
    /// end.
    init(_ hooks: TransferLoop.Hooks) throws(Errno) {
        self.hooks = hooks
        signal = try WakeSignal()
        let started = try NativeThread("news") { self.run() }
        thread.withLock { $0 = started }
    }

    /// Has news of a job told.
    func tell(_ job: TransferJob, _ news: TransferNews) {
        var endsAll = false
        if case .ended(.failed(let error, _)) = news {
            endsAll = job.isDecisive || error.code.endsRun
        }
        add(.news(job.id, news), bytes: news.bytesInMemory, endsAll: endsAll)
    }

    /// Has it told that no transfer is running any more.
    func tellIdle() { add(.idle) }

    /// The bytes in memory that wait to be told of.
    var bytesWaiting: Int { waiting.withLock { $0.bytes } }

    /// Waits until failures that end everything were told of; false when there are none to be told.
    func settleFailures() -> Bool {
        guard waiting.withLock({ $0.hasFailures }) else { return false }
        let told = Semaphore()
        add(.mark(told))
        signal.raise()
        told.wait()
        return true
    }

    /// Tells what waits, and ends the thread. Not for that thread.
    func stop() {
        guard let ending = thread.withLock({ $0.take() }) else { return }
        add(.end)
        signal.raise()
        ending.join()
    }

    private func add(_ item: Item, bytes: Int = 0, endsAll: Bool = false) {
        let wakes = waiting.withLock { waiting in
            waiting.items.append(item)
            waiting.bytes += bytes
            if endsAll { waiting.hasFailures = true }
            defer { waiting.isAsleep = false }
            return waiting.isAsleep
        }
        if wakes { signal.raise() }
    }

    private func run() {
        var wasBusy = false
        while true {
            var items = waiting.withLock { waiting in
                let items = waiting.items
                waiting.items = []
                waiting.isAsleep = items.isEmpty && !wasBusy
                return items
            }
            if items.isEmpty {
                signal.wait(milliseconds: wasBusy ? NewsRelay.pause : -1)
                signal.clear()
            }
            wasBusy = !items.isEmpty
            for at in items.indices {
                switch items[at] {
                case .news(let job, let news):
                    // A body goes when whoever hears of it has done with it.
                    items[at] = .told
                    hooks.report(job, news)
                    let bytes = news.bytesInMemory
                    if bytes > 0 { waiting.withLock { $0.bytes -= bytes } }
                case .told: break
                case .idle: hooks.onIdle()
                case .mark(let told):
                    waiting.withLock { $0.hasFailures = false }
                    told.post()
                case .end: return
                }
            }
        }
    }
}

extension TransferNews {
    /// The bytes of a body in memory that they bring.
    fileprivate var bytesInMemory: Int {
        if case .ended(.received(let body)) = self, case .memory(let bytes) = body.content {
            return bytes.count
        }
        return 0
    }
}
