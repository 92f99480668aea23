internal import MirrorModel
internal import Synchronization

/// Runs transfers on a thread of its own, which owns everything of libcurl.
///
/// Callers leave messages, from any thread; news come back in order on a thread that is there for
/// that. The last news of every job is `ended`. After a failure that ends everything no other
/// transfer is begun before whoever hears of it has had the time to cancel it.
final class TransferLoop: Sendable {
    /// What the loop asks of, and tells, its surroundings.
    struct Hooks: Sendable {
        /// What a job tells; called on the thread of the news.
        var report: @Sendable (Int, TransferNews) -> Void
        /// No transfer is running any more; called once each time, in order with the news.
        var onIdle: @Sendable () -> Void = {}
        /// Whether so many more bytes of a target, not declared by the manifest, may be written; an
        /// error ends the transfer. Called on the transfer thread, and returns quickly.
        var admit: @Sendable (Int64, Target) -> MirrorError? = { _, _ in nil }

        init(report: @escaping @Sendable (Int, TransferNews) -> Void) { self.report = report }
    }

    private let inbox: TransferInbox
    private let news: NewsRelay
    private let thread: Mutex<NativeThread?>

    /// Starts the thread, and those that work for it; throws where the system gives no more of them.
    init(configuration: Configuration, parts: any PartStore, hooks: Hooks) throws(MirrorError) {
        var pools: [WorkPool] = []
        var relay: NewsRelay?
        do throws(Errno) {
            let inbox = try TransferInbox()
            let news = try NewsRelay(hooks)
            relay = news
            let workers = try WorkPool(name: "lanes", threads: 2)
            pools.append(workers)
            let copiers = try WorkPool(name: "copies", threads: 2)
            pools.append(copiers)
            let started = try NativeThread("transfers") {
                TransferEngine(
                    configuration,
                    TransferEngine.Surroundings(
                        wire: CurlWire(configuration, signal: inbox.signal), parts: parts,
                        news: news, inbox: inbox, workers: workers, copiers: copiers,
                        admit: hooks.admit)
                ).run()
            }
            thread = Mutex(started)
            self.inbox = inbox
            self.news = news
        } catch {
            for pool in pools { pool.stop() }
            relay?.stop()
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

    /// Ends every job and the threads, and waits for that; parts stay. Not for the thread of the news.
    func stop() {
        let ending = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        guard let ending else { return }
        inbox.post(.stop)
        ending.join()
        news.stop()
    }
}
