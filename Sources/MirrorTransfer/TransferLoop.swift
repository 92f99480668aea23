package import MirrorModel
package import MirrorParts
internal import MirrorSystem
internal import Synchronization

/// Runs transfers on a thread of its own, which owns everything of libcurl.
///
/// Callers leave messages, from any thread; an observer hears of what becomes of them, in order, on
/// the transfer thread. The last that it hears of every job is `ended`. After a failure that ends
/// everything no other transfer is begun before the observer has had the time to cancel it.
package final class TransferLoop: Sendable {
    private let inbox: TransferInbox
    private let thread: Mutex<NativeThread?>

    /// Starts the thread, and those that work for it; throws where the system gives no more of them.
    ///
    /// - Parameters:
    ///   - remembered: how many transfers at once hosts liked in runs before.
    ///   - remember: told at the end what they like now.
    ///   - admit: whether so many more bytes of a target, not declared by the manifest, may be
    ///     written; an error ends the transfer. Called on the transfer thread, and returns quickly.
    package init(
        configuration: Configuration, parts: any PartStore, observer: any TransferObserver,
        remembered: [Host: Int] = [:],
        remember: @escaping @Sendable ([Host: Int]) -> Void = { _ in },
        admit: @escaping @Sendable (Int64, Target) -> MirrorError? = { _, _ in nil }
    ) throws(MirrorError) {
        var pools: [WorkPool] = []
        do throws(Errno) {
            let inbox = try TransferInbox()
            let workers = try WorkPool(name: "pipelines", threads: 2)
            pools.append(workers)
            let copiers = try WorkPool(name: "copies", threads: 2)
            pools.append(copiers)
            let started = try NativeThread("transfers") {
                var surroundings = TransferEngine.Surroundings(
                    wire: CurlWire(configuration, signal: inbox.signal), parts: parts,
                    observer: observer, inbox: inbox, workers: workers, copiers: copiers,
                    admit: admit)
                surroundings.remembered = remembered
                surroundings.remember = remember
                TransferEngine(configuration, surroundings).run()
            }
            thread = Mutex(started)
            self.inbox = inbox
        } catch {
            for pool in pools { pool.stop() }
            throw MirrorError(error)
        }
    }

    /// Adds jobs to the queue.
    package func submit(_ jobs: [TransferJob]) { inbox.post(.submit(jobs)) }

    /// Asks for no more bytes of a job until it is resumed; what runs keeps its place.
    package func pause(_ id: Int) { inbox.post(.pause(id)) }

    /// Goes on with a paused job.
    package func resume(_ id: Int) { inbox.post(.resume(id)) }

    /// Asks for no more bytes at all until `resumeAll`.
    package func pauseAll() { inbox.post(.pauseAll) }

    /// Goes on after `pauseAll`.
    package func resumeAll() { inbox.post(.resumeAll) }

    /// Ends a job; its part stays for another run unless it is to be discarded.
    package func cancel(_ id: Int, discardingPart: Bool) {
        inbox.post(.cancel(id, discardingPart: discardingPart))
    }

    /// Ends every job; parts stay.
    package func cancelAll() { inbox.post(.cancelAll) }

    /// Ends every job and the threads, and waits for that; parts stay.
    package func stop() {
        let ending = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        guard let ending else { return }
        inbox.post(.stop)
        ending.join()
    }
}
