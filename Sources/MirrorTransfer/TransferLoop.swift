package import MirrorModel
package import MirrorParts
package import MirrorSystem
internal import Synchronization

/// Runs transfers on a thread of its own, which owns all libcurl objects.
///
/// Callers leave messages from any thread. An observer receives the resulting events in order, on
/// the transfer thread. The last event of every job is `ended`. After a failure that ends
/// everything, no other transfer begins before the observer has had the time to cancel it.
package final class TransferLoop: Sendable {
    private let inbox: TransferInbox
    private let thread: NativeThread
    private let hasFinished = Semaphore()
    private let isStopped = Atomic(false)

    /// Starts the loop; throws where the system provides no more threads or descriptors.
    ///
    /// - Parameters:
    ///   - remembered: the number of transfers at once that suited each host in earlier runs.
    ///   - remember: called at the end with the numbers of this run.
    ///   - admit: returns the error that forbids a number of further bytes of a target which the
    ///     manifest does not declare; an error ends the transfer. Called on the transfer thread,
    ///     and must return quickly.
    package init(
        configuration: Configuration, parts: any PartStore, observer: any TransferObserver,
        remembered: [Host: Int] = [:],
        remember: @escaping @Sendable ([Host: Int]) -> Void = { _ in },
        admit: @escaping @Sendable (Int64, Target) -> MirrorError? = { _, _ in nil }
    ) throws(MirrorError) {
        do throws(Errno) {
            let inbox = try TransferInbox()
            self.inbox = inbox
            thread = try NativeThread("transfers") { [hasFinished] in
                var surroundings = TransferEngine.Surroundings(
                    wire: CurlWire(configuration, signal: inbox.signal), parts: parts,
                    observer: observer, inbox: inbox,
                    workers: WorkPool(name: "pipelines", threads: 2),
                    readers: WorkPool(name: "parts", threads: 2), admit: admit)
                surroundings.remembered = remembered
                surroundings.remember = remember
                let engine = TransferEngine(configuration, surroundings)
                engine.run()
                // `finish` does not wait for the connections to close.
                withExtendedLifetime(engine) { hasFinished.post() }
            }
        } catch { throw MirrorError(error) }
    }

    /// Adds jobs to the queue, and pauses some before one of them begins.
    package func submit(_ jobs: [TransferJob], pausing paused: [Int] = []) {
        inbox.post(.submit(jobs, pausing: paused))
    }

    /// Requests no more bytes of a job until it is resumed; a running job keeps its place.
    package func pause(_ id: Int) { inbox.post(.pause(id)) }

    /// Resumes a paused job.
    package func resume(_ id: Int) { inbox.post(.resume(id)) }

    /// Requests no more bytes at all until `resumeAll`.
    package func pauseAll() { inbox.post(.pauseAll) }

    /// Resumes after `pauseAll`.
    package func resumeAll() { inbox.post(.resumeAll) }

    /// Ends jobs; their parts stay for another run unless they are to be discarded.
    ///
    /// They end in one step: none of them gets the place that another one leaves.
    package func cancel(_ ids: [Int], discardingPart: Bool) {
        inbox.post(.cancel(ids, discardingPart: discardingPart))
    }

    /// Ends every job; parts stay.
    package func cancelAll() { inbox.post(.cancelAll) }

    /// Ends every job and the threads, and waits for that; parts stay.
    package func stop() { finish()?.join() }

    /// Ends every job, and waits for that; parts stay. Returns the transfer thread, which still closes its
    /// connections.
    ///
    /// Returns nil the second time.
    package func finish() -> NativeThread? {
        if isStopped.exchange(true, ordering: .acquiringAndReleasing) { return nil }
        inbox.post(.stop)
        hasFinished.wait()
        return thread
    }
}
