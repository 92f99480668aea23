internal import Synchronization

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
