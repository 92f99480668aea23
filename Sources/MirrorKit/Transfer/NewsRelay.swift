internal import MirrorModel
internal import Synchronization

/// Tells what the transfer thread has to tell, in order, on a thread of its own.
///
/// Whoever hears of an end settles it there: rows, landings, the next jobs. On the transfer thread that
/// would take as long as half of a small file's request. While news come all the time the
/// thread looks for them once in a millisecond, because to be woken for each would cost the transfer
/// thread a system call; after a quiet time the first one wakes it.
final class NewsRelay: Sendable {
    /// For how many milliseconds news gather.
    private static let pause: Int32 = 1

    private enum Item {
        case news(Int, TransferNews)
        case idle
        /// Everything before it was told.
        case mark(Semaphore)
        case end
    }

    private struct Waiting {
        var items: [Item] = []
        /// Bytes of bodies in memory among them.
        var bytes = 0
        /// Whether failures are among them, or being told.
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
    func tell(_ job: Int, _ news: TransferNews) {
        let isFailure = if case .ended(.failed) = news { true } else { false }
        add(.news(job, news), bytes: news.bytesInMemory, isFailure: isFailure)
    }

    /// Has it told that no transfer is running any more.
    func tellIdle() { add(.idle) }

    /// The bytes in memory that wait to be told of.
    var bytesWaiting: Int { waiting.withLock { $0.bytes } }

    /// Waits until failures were told, if there are any: whoever hears of one may cancel the rest.
    func settleFailures() {
        guard waiting.withLock({ $0.hasFailures }) else { return }
        let told = Semaphore()
        add(.mark(told))
        signal.raise()
        told.wait()
    }

    /// Tells what waits, and ends the thread. Not for that thread.
    func stop() {
        guard let ending = thread.withLock({ $0.take() }) else { return }
        add(.end)
        signal.raise()
        ending.join()
    }

    private func add(_ item: Item, bytes: Int = 0, isFailure: Bool = false) {
        let wakes = waiting.withLock { waiting in
            waiting.items.append(item)
            waiting.bytes += bytes
            if isFailure { waiting.hasFailures = true }
            defer { waiting.isAsleep = false }
            return waiting.isAsleep
        }
        if wakes { signal.raise() }
    }

    private func run() {
        var wasBusy = false
        while true {
            let items = waiting.withLock { waiting in
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
            for item in items {
                switch item {
                case .news(let job, let news):
                    hooks.report(job, news)
                    let bytes = news.bytesInMemory
                    if bytes > 0 { waiting.withLock { $0.bytes -= bytes } }
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
