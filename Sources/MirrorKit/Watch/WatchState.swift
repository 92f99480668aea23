internal import Synchronization

/// What a watch remembers from one sync to the next.
package struct WatchState: Sendable {
    /// For each manifest with a URL, the time until which mirror need not ask for it.
    private var fresh: [ManifestSource: Instant] = [:]
    /// The number of consecutive failed syncs for which an early retry may help.
    private var failures = 0

    /// Remembers nothing, so the next sync asks for every manifest.
    package init() {}

    /// Returns the manifests among these that need not be asked for, because their copies are fresh.
    package mutating func freshSources(
        among sources: [ManifestSource], at now: Instant
    ) -> Set<ManifestSource> {
        fresh = fresh.filter { $0.value > now && sources.contains($0.key) }
        return Set(fresh.keys)
    }

    /// Notes until when the copies of manifests are fresh, after they were read.
    package mutating func note(
        _ loaded: LoadedManifests, of sources: [ManifestSource], at now: Instant
    ) {
        for (source, until) in zip(sources, loaded.freshUntil) {
            if let until, until > now { fresh[source] = until }
        }
    }

    /// Makes the next sync ask for every manifest.
    package mutating func forgetFreshness() { fresh = [:] }

    /// Returns what decides when the next sync comes: what is due first, and what is deferred.
    package func end(
        of manifests: [Manifest], in session: MirrorSession, permission: TransferPermission
    ) async throws -> SyncEnd {
        var end = SyncEnd()
        end.nextDue = try await NextSync.firstDue(of: manifests, in: session)
        for (source, until) in fresh where end.nextDue.map({ until < $0.at }) ?? true {
            end.nextDue = NextSync(at: until, cause: .due(source.label))
        }
        let status = try await PermissionStatus(of: permission, in: session)
        end.deferral = status?.deferral
        end.windowCloses = status?.windowCloses
        return end
    }

    /// Enters the exit code of a sync, and counts failures in a row.
    ///
    /// - Parameter mayPass: whether the error of the sync may pass, such as a server that is away.
    package mutating func enter(exit: Int32, mayPass: Bool = false, into end: inout SyncEnd) {
        end.exit = exit
        end.isFinal = end.isFinal || !mayPass && SyncEnd.isFinal(exit: exit)
        failures = SyncEnd.isMendable(exit: exit) ? failures + 1 : 0
        end.failures = failures
    }
}

extension NextSync {
    /// The file that becomes due first, and when.
    ///
    /// Returns nil if no fresh file ever becomes due. Files that are due already are left out,
    /// because a sync has just requested them.
    package static func firstDue(
        of manifests: [Manifest], in session: MirrorSession
    ) async throws -> NextSync? {
        let first = Mutex<NextSync?>(nil)
        try await session.forEachFile(of: manifests, readsDoubtful: false) { file in
            guard case .fresh(let until?) = file.freshness else { return }
            first.withLock { first in
                if first.map({ until < $0.at }) ?? true {
                    first = NextSync(at: until, cause: .due(file.target.path))
                }
            }
        }
        return first.withLock { $0 }
    }
}
