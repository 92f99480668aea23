public import MirrorModel
internal import MirrorSystem

extension TreeReport {
    /// Says what is in the tree, where it came from, and what runs did.
    ///
    /// It asks no server, reads no file of the tree, and takes no lock: a run beside it goes on. Memory
    /// does not grow with the number of files. Throws `MirrorError` with `inputOutput` or
    /// `indexNewer`.
    public init(of session: MirrorSession, on manifests: [Manifest]) async throws {
        let root = session.root
        let remembered = try await session.manifests.remembered()
        self = try await session.engine.look { view in
            let now = SystemClock.now()
            var report = TreeReport(root: root, madeAt: now)
            report.manifests = remembered
            try RunHistory.add(to: &report, from: view)
            var inventory = try Inventory(view: view, manifests: manifests, only: [], now: now)
            try inventory.files { report.add($0) }
            return report
        }
    }
}
