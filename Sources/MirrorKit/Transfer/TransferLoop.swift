internal import MirrorModel
internal import Synchronization

/// Runs transfers on a thread of its own, which owns everything of libcurl.
///
/// Callers leave messages, from any thread; news come back on the transfer thread, and whoever gets
/// them returns quickly. The last news of every job is `ended`.
final class TransferLoop: Sendable {
    /// What the loop asks of, and tells, its surroundings; called on the transfer thread.
    struct Hooks: Sendable {
        /// What a job tells.
        var report: @Sendable (Int, TransferNews) -> Void
        /// No transfer is running any more; called once each time.
        var onIdle: @Sendable () -> Void = {}
        /// Whether so many more bytes, not declared by the manifest, may be written; an error ends
        /// the transfer.
        var admit: @Sendable (Int64) -> MirrorError? = { _ in nil }

        init(report: @escaping @Sendable (Int, TransferNews) -> Void) { self.report = report }
    }

    private let inbox: TransferInbox
    private let thread: Mutex<NativeThread?>

    /// Starts the thread, and those that work for it; throws where the system gives no more of them.
    init(configuration: Configuration, parts: any PartStore, hooks: Hooks) throws(MirrorError) {
        var pools: [WorkPool] = []
        do throws(Errno) {
            let inbox = try TransferInbox()
            let workers = try WorkPool(name: "digests", threads: 2)
            pools.append(workers)
            let copiers = try WorkPool(name: "copies", threads: 2)
            pools.append(copiers)
            let started = try NativeThread("transfers") {
                TransferEngine(
                    configuration: configuration, parts: parts, hooks: hooks, inbox: inbox,
                    workers: workers, copiers: copiers
                ).run()
            }
            thread = Mutex(started)
            self.inbox = inbox
        } catch {
            for pool in pools { pool.stop() }
            throw MirrorError(error)
        }
    }

    /// Starts the thread, with nothing but a receiver of news.
    convenience init(
        configuration: Configuration, parts: any PartStore,
        report: @escaping @Sendable (Int, TransferNews) -> Void
    ) throws(MirrorError) {
        try self.init(configuration: configuration, parts: parts, hooks: Hooks(report: report))
    }

    /// Adds jobs to the queue.
    func submit(_ jobs: [TransferJob]) { inbox.post(.submit(jobs)) }

    /// Asks for no more bytes of a job until it is resumed; what runs keeps its place.
    func pause(_ id: Int) { inbox.post(.pause(id)) }

    /// Goes on with a paused job.
    func resume(_ id: Int) { inbox.post(.resume(id)) }

    /// Asks for no more bytes at all until `resumeAll`.
    func pauseAll() { inbox.post(.pauseAll) }

    /// Goes on after `pauseAll`.
    func resumeAll() { inbox.post(.resumeAll) }

    /// Ends a job; its part stays for another run unless it is to be discarded.
    func cancel(_ id: Int, discardingPart: Bool) {
        inbox.post(.cancel(id, discardingPart: discardingPart))
    }

    /// Ends every job; parts stay.
    func cancelAll() { inbox.post(.cancelAll) }

    /// Ends every job and the thread, and waits for that; parts stay. Not for the transfer thread.
    func stop() {
        let ending = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        guard let ending else { return }
        inbox.post(.stop)
        ending.join()
    }
}
