internal import MirrorSystem
internal import Synchronization

/// Flushes a whole file system on a thread of its own, while the promotions write what the next flush takes
/// along.
final class FlushThread: Sendable {
    private struct State {
        var isEnding = false
        var error: Errno?
    }

    private let flush: @Sendable () throws(Errno) -> Void
    private let state = Mutex(State())
    private let asked = Semaphore()
    private let answered = Semaphore()
    private let thread = Mutex<NativeThread?>(nil)

    /// Starts the thread. Throws where the system refuses another one.
    init(_ flush: @escaping @Sendable () throws(Errno) -> Void) throws(Errno) {
        self.flush = flush
        let started = try NativeThread("flushes") { self.run() }
        thread.withLock { $0 = started }
    }

    /// Flushes while the caller works. What the work writes may not be on the disk afterwards. Throws the
    /// error of the flush, which is final, or else what the work throws.
    func flush(beside work: () throws(PromotionFault) -> Void) throws(PromotionFault) {
        asked.post()
        var fault: PromotionFault?
        do throws(PromotionFault) { try work() } catch { fault = error }
        answered.wait()
        if let error = state.withLock({ $0.error }) { throw .unflushed(error) }
        if let fault { throw fault }
    }

    /// Ends the thread; no flush is under way.
    func stop() {
        state.withLock { $0.isEnding = true }
        asked.post()
        thread.withLock { $0.take() }?.join()
    }

    private func run() {
        while true {
            asked.wait()
            if state.withLock({ $0.isEnding }) { return }
            do throws(Errno) { try flush() } catch {
                state.withLock { $0.error = error }
            }
            answered.post()
        }
    }
}
