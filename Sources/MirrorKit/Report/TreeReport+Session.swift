extension TreeReport {
    /// Makes a report of what is in the tree, where it came from, and what runs did.
    ///
    /// The report makes no request and reads no file of the tree. It takes no lock, so a run can
    /// go on at the same time. Its memory does not grow with the number of files. Throws
    /// `MirrorError` with `inputOutput` or `indexNewer`.
    package init(of session: MirrorSession, on manifests: [Manifest]) async throws {
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
