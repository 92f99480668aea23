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

/// A few threads that take closures from one queue, in order. They start when work arrives while the others
/// are at work.
package final class WorkPool: Workers {
    private struct State {
        var queue: [@Sendable () -> Void] = []
        var first = 0
        /// How many pieces of work wait or are being done, and how many threads there are for them.
        var unfinished = 0
        var started = 0
        var isStopping = false
        /// Whether a thread that is none of the pool's does the work that waits.
        var isHelped = false

        mutating func takeNext() -> (@Sendable () -> Void)? {
            guard first < queue.count else { return nil }
            defer {
                first += 1
                if first == queue.count || first > 1024 {
                    queue.removeFirst(first)
                    first = 0
                }
            }
            return queue[first]
        }
    }

    /// Starts a thread with a name, and throws when the system gives none.
    package typealias Start =
        @Sendable (String, @escaping @Sendable () -> Void) throws(Errno) -> NativeThread

    private let name: String
    private let most: Int
    private let start: Start
    private let state = Mutex(State())
    private let available = Semaphore()
    private let threads = Mutex<[NativeThread]>([])

    package init(
        name: String, threads count: Int,
        start: @escaping Start = { (name, body) throws(Errno) in try NativeThread(name, body) }
    ) {
        self.name = name
        most = count
        self.start = start
    }

    /// Starts the first thread before there is work; throws when the system gives none.
    package func startFirst() throws(Errno) {
        try threads.withLock { (threads) throws(Errno) in
            threads.append(try start(name) { self.run() })
            state.withLock { $0.started += 1 }
        }
    }

    /// Adds work; false after `stop`, when the work is dropped.
    ///
    /// Where the system gives no thread at all, it is done here and now.
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
        if isMore, !startAnother() { help() }
        return isTaken
    }

    /// Starts one more thread; false where no thread is left to do the work. Where the system gives none,
    /// those that are there do it, and the next piece of work asks again.
    private func startAnother() -> Bool {
        threads.withLock { threads in
            // `stop` sets the flag before it takes the threads.
            if !state.withLock({ $0.isStopping }), let thread = try? start(name, { self.run() }) {
                threads.append(thread)
                return true
            }
            return state.withLock { state in
                state.started -= 1
                return state.started > 0
            }
        }
    }

    /// Does the work that waits on the calling thread. Work that adds more is not interrupted by it.
    private func help() {
        let isFirst = state.withLock { state in
            defer { state.isHelped = true }
            return !state.isHelped
        }
        guard isFirst else { return }
        while true {
            let work: (@Sendable () -> Void)? = state.withLock { state in
                let work = state.takeNext()
                state.isHelped = work != nil
                return work
            }
            guard let work else { return }
            work()
            state.withLock { $0.unfinished -= 1 }
        }
    }

    /// Waits until the submitted work and the threads have ended, and accepts no more work. It does not wait for
    /// work that a thread of none of the pool's does, which has ended when that one's `submit` returns.
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
            let (work, isOver) = state.withLock { state in
                let work = state.takeNext()
                return (work, work == nil && state.isStopping)
            }
            if isOver { return }
            // Nil where another thread helped.
            guard let work else { continue }
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

/// A queue of work pieces that run in order, one at a time, on any free worker of a pool.
package final class SerialWork: Sendable {
    package typealias Piece = @Sendable () -> Void

    private let queue = Mutex<(pieces: [Piece], isRunning: Bool)>(([], false))
    private let workers: any Workers

    package init(on workers: any Workers) { self.workers = workers }

    /// Adds a piece after all so far; any thread may.
    package func add(_ piece: @escaping Piece) {
        let mustStart = queue.withLock { queue in
            queue.pieces.append(piece)
            defer { queue.isRunning = true }
            return !queue.isRunning
        }
        if mustStart, !workers.submit({ self.run() }) { run() }
    }

    /// Runs the pieces that have gathered, then submits itself again for those that arrived in between.
    /// So a queue that never runs empty does not keep a worker from other queues. If the pool has
    /// stopped, this call runs the remaining pieces itself.
    private func run() {
        repeat {
            let pieces = queue.withLock { queue in
                let pieces = queue.pieces
                queue.pieces = []
                if pieces.isEmpty { queue.isRunning = false }
                return pieces
            }
            if pieces.isEmpty { return }
            for piece in pieces { piece() }
        } while !workers.submit { self.run() }
    }
}
