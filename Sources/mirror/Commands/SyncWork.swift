import MirrorKit
import MirrorModel
import Synchronization

/// One sync: plans and executes under the lock, and shows the run.
struct SyncWork {
    let options: SyncOptions
    let output: RunOutput
    /// Whether the root was named before.
    var isAnnounced = false
    /// Whether the process ends afterwards.
    var isLast = false

    /// Makes the tree match the manifests; throws `ExitCode` with the run's exit code if it is not 0.
    func run(_ manifests: [Manifest], in session: MirrorSession) async throws {
        try await output.concluding(due: { try await due(manifests, in: session) }) {
            if !options.network.offline { session.expectRequests(of: manifests) }
            CommandStage.enter(.waitingForLock)
            var isAnnounced = isAnnounced
            try await session.withPlan(
                of: manifests, options: options.planOptions,
                waitingSeconds: options.running.waitingSeconds
            ) {
                CommandStage.enter(.lookingAtTree)
                for notice in await session.notices() { output.note(notice) }
                if !isAnnounced { announce(session) }
                isAnnounced = true
            } _: { plan in
                CommandStage.enter(.running)
                if isLast { MemoryUntilExit.keep(plan) }
                // A run that has nothing to do is over before anybody could steer it.
                if !plan.isEmpty { output.desk?.begin(session) }
                try await output.show(session.execute(plan, options: try options.runOptions()))
            }
        }
    }

    private func announce(_ session: MirrorSession) {
        if options.when.unlessMetered, let reason = PermissionStatus.reasonMeteringIsUnknown() {
            output.note("The network counts as not metered: \(reason)")
        }
        output.announce(root: session.root)
    }

    /// How many files the next run asks about.
    private func due(_ manifests: [Manifest], in session: MirrorSession) async throws -> Int {
        let count = Mutex(0)
        try await session.forEachFile(of: manifests) { file in
            if file.isDue { count.withLock { $0 += 1 } }
        } _: { file in
            let isDue = if case .due = file.freshness { true } else { false }
            let isMissing = file.state == .missing && !file.isOrphan
            if isDue || isMissing { count.withLock { $0 += 1 } }
        }
        return count.withLock { $0 }
    }
}
