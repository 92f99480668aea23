internal import Glibc
public import MirrorModel
internal import MirrorStore
internal import MirrorSystem

extension MirrorSession {
    /// Bytes of logs that a report reads, the newest run's first.
    fileprivate static let mostLogged: Int64 = 64 << 20

    /// Says what is in the tree, where it came from, and what runs did.
    ///
    /// It asks no server, reads no file of the tree, and takes no lock: a run beside it goes on. Memory
    /// does not grow with the number of files. Throws `MirrorError` with `inputOutput` or
    /// `indexNewer`.
    public func report(on manifests: [Manifest]) async throws -> TreeReport {
        let root = root
        let remembered = try await rememberedManifests()
        return try await reading { view in
            try await Offload.run {
                let now = SystemClock.now()
                var report = TreeReport(root: root, madeAt: now)
                report.manifests = remembered
                if let directory = view.root, let index = view.index {
                    try report.addRuns(index, directory)
                }
                var inventory = try Inventory(view: view, manifests: manifests, only: [], now: now)
                try inventory.files { report.add($0) }
                return report
            }
        }
    }
}

extension MirrorSession {
    /// Refuses a path beneath the areas or `.mirror`, where only mirror's own files belong.
    ///
    /// Throws `MirrorError` with `usage`.
    package nonisolated func refuseAmongFiles(_ path: String) throws {
        let resolved = realpath(root, nil)
        defer { free(resolved) }
        let root = resolved.map { String(cString: $0) } ?? root
        guard let folder = try FileReplacement(of: path).folder else { return }
        for name in Area.allCases.map(\.rawValue) + [".mirror"] {
            let own = root + "/" + name
            guard folder == own || folder.hasPrefix(own + "/") else { continue }
            throw MirrorError(
                .usage,
                "\(path.printable): it would lie in \(name), among the files that mirror keeps. Choose another place."
            )
        }
    }
}

extension TreeReport {
    fileprivate mutating func addRuns(_ index: Index, _ root: RootDirectory) throws {
        let records = try index.runs().suffix(TreeReport.mostRuns).reversed()
        runs = records.map(PastRun.init)
        var left = MirrorSession.mostLogged
        for run in runs where left > 0 {
            var hasBegun = false
            var reader = DecisionLineReader()
            left -= RunLog.forEachLine(of: run.id, in: root) { line in
                guard let decision = reader.decision(in: line) else { return }
                if !hasBegun { begin(run) }
                hasBegun = true
                add(decision, of: run)
            }
        }
    }
}
