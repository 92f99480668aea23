internal import CLinux
internal import Glibc
internal import Synchronization

/// Takes work that may block, to be done on another thread, in order.
package protocol Workers: Sendable {
    /// Adds work; false after `stop`, when it is dropped.
    @discardableResult
    func submit(_ work: @escaping @Sendable () -> Void) -> Bool
    /// Lets the work that was submitted end, and takes no more.
    func stop()
}

/// A few threads that take closures from one queue, in order.
package final class WorkPool: Workers {
    private struct State {
        var queue: [@Sendable () -> Void] = []
        var first = 0
        var isStopping = false
    }

    private let state = Mutex(State())
    private let available = Semaphore()
    private let threads = Mutex<[NativeThread]>([])

    /// Starts the threads, or as many of them as the system gives; throws when that is none.
    package init(name: String, threads count: Int) throws(Errno) {
        let pool = self
        try threads.withLock { (threads) throws(Errno) in
            for _ in 0..<count {
                do throws(Errno) {
                    threads.append(try NativeThread(name) { pool.run() })
                } catch {
                    if threads.isEmpty { throw error }
                }
            }
        }
    }

    /// Adds work; false after `stop`, when it is dropped.
    @discardableResult
    package func submit(_ work: @escaping @Sendable () -> Void) -> Bool {
        let isTaken = state.withLock { state in
            if state.isStopping { return false }
            state.queue.append(work)
            return true
        }
        if isTaken { available.post() }
        return isTaken
    }

    /// Lets the work that was submitted end, and the threads with it.
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
        }
    }
}

/// A counting semaphore (sem_overview(7)).
package final class Semaphore: @unchecked Sendable {
    // sem_post and sem_wait may be called by any thread; the pointer never changes.
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

    /// Waits at most so many seconds; says whether there was something to wait for.
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
