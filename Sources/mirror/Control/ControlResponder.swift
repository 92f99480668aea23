import Glibc
import MirrorKit
import Synchronization

/// Receives the requests of other processes, and carries them out.
final class ControlResponder: Sendable {
    /// The description of what the process does, and the session of its run.
    private let state: Mutex<(job: JobDescription, session: MirrorSession?)>
    private let server = Mutex<ControlServer?>(nil)
    /// Asks the watch for a sync. `nil` means that the process is no watch.
    private let wake: (@Sendable () -> Void)?

    /// Describes a process that does nothing yet; other processes can ask it only after `open`.
    init(verb: String, root: String, wake: (@Sendable () -> Void)? = nil) {
        self.wake = wake
        let job = JobDescription(
            process: getpid(), verb: verb, root: root, isRunning: false, since: .now)
        state = Mutex((job, nil))
    }

    /// Begins to listen for requests.
    ///
    /// Does nothing if the responder listens already, or if it cannot listen.
    func open() {
        let root = state.withLock { $0.job.root }
        server.withLock { server in
            guard server == nil else { return }
            server = ControlServer(root: root) { [self] in await answer($0) }
        }
    }

    /// Stops listening.
    func close() {
        let last = server.withLock { server in
            defer { server = nil }
            return server
        }
        last?.stop()
    }

    /// Records that a run has begun.
    func begin(_ session: MirrorSession) {
        state.withLock { state in
            state.session = session
            state.job.isRunning = true
            state.job.since = .now
            state.job.until = nil
            state.job.isPaused = false
            state.job.totals = RunTotals()
        }
        open()
    }

    /// Records that the run has ended. `until` is the time of the next run, or nil.
    func rest(until: Instant?) {
        state.withLock { state in
            state.session = nil
            state.job.isRunning = false
            state.job.since = .now
            state.job.until = until
        }
    }

    /// Records an event of the run for the clients that follow it.
    func note(_ event: Event) {
        state.withLock { $0.job.totals = event.totals }
        server.withLock { $0 }?.tell(event)
    }
}

// MARK: Requests

extension ControlResponder {
    private func answer(_ request: ControlRequest) async -> ControlReply {
        let (job, session) = state.withLock { ($0.job, $0.session) }
        do {
            switch request.verb {
            case .describe, .follow: return .job(job)
            case .pause: return try await pause(request, session, job)
            case .resume: return try await resume(request.targets, session, job)
            case .cancel:
                guard let session else { return .idle(job) }
                let discards = request.isThorough
                if request.targets.isEmpty { await session.cancelAll(discardingParts: discards) }
                return await each(of: request.targets) {
                    await session.cancel($0, discardingPart: discards)
                }
            }
        } catch { return .refused(CommandError(error).error.message) }
    }

    /// Steers targets; `steer` returns whether a run gives the target new bytes.
    private func each(
        of targets: [Target], besides taken: [Target] = [], _ steer: (Target) async -> Bool
    ) async -> ControlReply {
        var unknown: [Target] = []
        for target in targets where await !steer(target) && !taken.contains(target) {
            unknown.append(target)
        }
        return .done(unknown: unknown)
    }

    private func pause(
        _ request: ControlRequest, _ session: MirrorSession?, _ job: JobDescription
    ) async throws -> ControlReply {
        let targets = request.targets
        if request.isThorough {
            let session = try session ?? MirrorSession(root: job.root)
            for target in ControlResponder.wishes(targets) { try await session.putAside(target) }
            return .done(unknown: [])
        }
        guard let session else { return .idle(job) }
        if targets.isEmpty {
            await session.pauseAll()
            state.withLock { $0.job.isPaused = true }
        }
        return await each(of: targets) { await session.pause($0) }
    }

    private func resume(
        _ targets: [Target], _ session: MirrorSession?, _ job: JobDescription
    ) async throws -> ControlReply {
        let files = try session ?? MirrorSession(root: job.root)
        var taken: [Target] = []
        for target in ControlResponder.wishes(targets) where try await files.takeUp(target) {
            if let target { taken.append(target) }
            wake?()
        }
        guard let session else { return .done(unknown: targets.filter { !taken.contains($0) }) }
        if targets.isEmpty {
            await session.resumeAll()
            state.withLock { $0.job.isPaused = false }
        }
        return await each(of: targets, besides: taken) { await session.resume($0) }
    }

    /// Returns the targets, or one nil that stands for all targets.
    private static func wishes(_ targets: [Target]) -> [Target?] {
        targets.isEmpty ? [nil] : targets
    }
}

extension ControlReply {
    /// The reply of a process that has no run to steer at the moment.
    fileprivate static func idle(_ job: JobDescription) -> ControlReply {
        let clock = LocalClock.ofThisProcess(now: .now)
        let sleep = job.until.map { ": the \(job.verb) sleeps until \(clock.description(of: $0))" }
        return .refused("no run is under way at the moment" + (sleep ?? ""))
    }
}
