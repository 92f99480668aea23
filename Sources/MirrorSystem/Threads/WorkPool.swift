internal import CLinux
internal import Glibc
internal import Synchronization

/// Takes work that may block, and does it on another thread, in order.
package protocol Workers: Sendable {
    /// Adds work; false after `stop`, when the work is dropped.
    @discardableResult
    func submit(_ work: @escaping @Sendable () -> Void) -> Bool
    /// Waits until the submitted work has ended, and accepts no more.
    func stop()
}

/// A few threads that take closures from one queue, in order. All but the first start when work arrives
/// while the others are at work.
package final class WorkPool: Workers {
    private struct State {
        var queue: [@Sendable () -> Void] = []
        var first = 0
        /// How many pieces of work wait or are being done, and how many threads there are for them.
        var unfinished = 0
        var started = 1
        var isStopping = false
    }

    private let name: String
    private let most: Int
    private let state = Mutex(State())
    private let available = Semaphore()
    private let threads = Mutex<[NativeThread]>([])

    /// Starts the first of the threads; throws when the system gives none.
    package init(name: String, threads count: Int) throws(Errno) {
        self.name = name
        most = count
        let pool = self
        try threads.withLock { (threads) throws(Errno) in
            threads.append(try NativeThread(name) { pool.run() })
        }
    }

    /// Adds work; false after `stop`, when the work is dropped.
    @discardableResult
    package func submit(_ work: @escaping @Sendable () -> Void) -> Bool {
        let (isTaken, isMore) = state.withLock { state in
            if state.isStopping { return (false, false) }
            state.queue.append(work)
            state.unfinished += 1
            let isMore = state.unfinished > state.started && state.started < most
            if isMore { state.started += 1 }
            return (true, isMore)
        }
        // First, because to start a thread may take a while.
        if isTaken { available.post() }
        if isMore { startAnother() }
        return isTaken
    }

    /// Starts one more thread. Where the system gives none, those that are there do the work, and the next
    /// piece of work asks again.
    private func startAnother() {
        threads.withLock { threads in
            // Whoever stops the pool takes the threads after it has said so.
            if state.withLock({ $0.isStopping }) { return }
            if let thread = try? NativeThread(name, { self.run() }) {
                threads.append(thread)
            } else {
                state.withLock { $0.started -= 1 }
            }
        }
    }

    /// Waits until the submitted work and the threads have ended, and accepts no more work.
    package func stop() {
        state.withLock { $0.isStopping = true }
        let ending = threads.withLock { threads in
            defer { threads = [] }
            return threads
        }
        for _ in ending { available.post() }
        for thread in ending { thread.join() }
    }

    private func run() {
        while true {
            available.wait()
            let work: (@Sendable () -> Void)? = state.withLock { state in
                guard state.first < state.queue.count else { return nil }
                defer {
                    state.first += 1
                    if state.first == state.queue.count || state.first > 1024 {
                        state.queue.removeFirst(state.first)
                        state.first = 0
                    }
                }
                return state.queue[state.first]
            }
            guard let work else { return }
            work()
            state.withLock { $0.unfinished -= 1 }
        }
    }
}

/// A counting semaphore (sem_overview(7)).
package final class Semaphore: @unchecked Sendable {
    // Any thread may call sem_post and sem_wait; the pointer never changes.
    private let semaphore: UnsafeMutablePointer<sem_t>

    package init() {
        semaphore = .allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    package func post() { sem_post(semaphore) }

    package func wait() { while sem_wait(semaphore) != 0, errno == EINTR {} }

    /// Waits at most this many seconds; false when the time ran out.
    package func wait(seconds: Int) -> Bool {
        var end = timespec()
        clock_gettime(CLOCK_REALTIME, &end)
        end.tv_sec += seconds
        while sem_timedwait(semaphore, &end) != 0 {
            if errno != EINTR { return false }
        }
        return true
    }
}
