internal import CLinux
internal import Glibc
internal import Synchronization

/// Runs work that may block on other threads, in the order in which it was submitted.
protocol Workers: Sendable {
    /// Adds work. Returns false after `stop`: the work is then dropped.
    @discardableResult
    func submit(_ work: @escaping @Sendable () -> Void) -> Bool
    /// Waits until the submitted work has ended, and accepts no more.
    func stop()
}

/// A few threads that take closures from one queue, in order.
///
/// A thread starts when work arrives and all others are busy.
final class WorkPool: Workers {
    private struct State {
        var queue: [@Sendable () -> Void] = []
        var first = 0
        /// The number of pieces of work that wait or are being done.
        var unfinished = 0
        /// The number of threads in the pool, including one that is about to start.
        var started = 0
        var isStopping = false
        /// Whether a thread outside the pool is running the work that waits.
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

    /// Starts a thread with a name. Throws if the system gives no thread.
    typealias Start =
        @Sendable (String, @escaping @Sendable () -> Void) throws(Errno) -> NativeThread

    private let name: String
    private let most: Int
    private let start: Start
    private let state = Mutex(State())
    private let available = Semaphore()
    private let threads = Mutex<[NativeThread]>([])

    init(
        name: String, threads count: Int,
        start: @escaping Start = { (name, body) throws(Errno) in try NativeThread(name, body) }
    ) {
        self.name = name
        most = count
        self.start = start
    }

    /// Starts the first thread before there is work. Throws if the system gives no thread.
    func startFirst() throws(Errno) {
        try threads.withLock { (threads) throws(Errno) in
            threads.append(try start(name) { self.run() })
            state.withLock { $0.started += 1 }
        }
    }

    /// Adds work. Returns false after `stop`: the work is then dropped.
    ///
    /// If the system gives no thread at all, this call runs the work before it returns.
    @discardableResult
    func submit(_ work: @escaping @Sendable () -> Void) -> Bool {
        let (isTaken, isMore) = state.withLock { state in
            if state.isStopping { return (false, false) }
            state.queue.append(work)
            state.unfinished += 1
            let isMore = state.unfinished > state.started && state.started < most
            if isMore { state.started += 1 }
            return (true, isMore)
        }
        // Threads that are there wake first, because starting another may take a while.
        if isTaken { available.post() }
        if isMore, !startAnother() { help() }
        return isTaken
    }

    /// Starts one more thread. Returns false if the pool has no thread.
    ///
    /// If the system refuses the thread, existing threads do the work, and the next piece of work
    /// tries again.
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

    /// Runs the waiting work on the calling thread.
    ///
    /// If such work submits more, the nested call returns at once, so the running work is not
    /// interrupted.
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

    /// Waits until the submitted work and the threads have ended, and accepts no more work.
    ///
    /// The call does not wait for work that a thread outside the pool runs. That work has ended
    /// when that thread's `submit` returns.
    func stop() {
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
            // `nil` means that a thread outside the pool took the work.
            guard let work else { continue }
            work()
            state.withLock { $0.unfinished -= 1 }
        }
    }
}

/// A counting semaphore (sem_overview(7)).
final class Semaphore: @unchecked Sendable {
    // Any thread may call sem_post and sem_wait, because the pointer never changes.
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        semaphore = .allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func post() { sem_post(semaphore) }

    func wait() { while sem_wait(semaphore) != 0, errno == EINTR {} }

    /// Waits at most this many seconds. Returns false if the time ran out.
    func wait(seconds: Int) -> Bool {
        var end = timespec()
        clock_gettime(CLOCK_REALTIME, &end)
        end.tv_sec += seconds
        while sem_timedwait(semaphore, &end) != 0 {
            if errno != EINTR { return false }
        }
        return true
    }
}

/// A queue of pieces of work, which run in order, one at a time, on any free worker of a pool.
final class SerialWork: Sendable {
    typealias Piece = @Sendable () -> Void

    private let queue = Mutex<(pieces: [Piece], isRunning: Bool)>(([], false))
    private let workers: any Workers

    init(on workers: any Workers) { self.workers = workers }

    /// Adds a piece of work behind all others. Any thread may call it.
    func add(_ piece: @escaping Piece) {
        let mustStart = queue.withLock { queue in
            queue.pieces.append(piece)
            defer { queue.isRunning = true }
            return !queue.isRunning
        }
        if mustStart, !workers.submit({ self.run() }) { run() }
    }

    /// Runs the pieces in the queue, then submits itself again for pieces that arrived in between.
    ///
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
