import MirrorKit

/// The files that an app has at hand without a network.
struct OfflineFolder {
    let session: MirrorSession
    let manifest: Manifest

    init(at folder: String, from base: SourceURL) throws {
        session = try MirrorSession(root: folder)
        var guide = Resource(
            target: try Target("Documents/guide.pdf"),
            url: try SourceURL("guide.pdf", relativeTo: base))
        guide.refresh = .after(.seconds(7 * 86400))
        var news = Resource(
            target: try Target("Caches/news.json"),
            url: try SourceURL("news.json", relativeTo: base))
        news.refresh = .after(.seconds(15 * 60))
        manifest = Manifest(name: "offline-folder", resources: [guide, news])
    }

    /// Fetches what is missing or due, and says how far it is.
    func refresh(options: RunOptions, show: (RunTotals) -> Void) async throws {
        let plan = try await session.plan(manifest)
        for try await event in session.execute(plan, options: options) {
            switch event.body {
            case .progress: show(event.totals)
            case .failed(let failed): print(failed.error.message)
            default: break
            }
        }
    }

    /// Passes the path of a file that is there and whole to the body.
    func read<Value: Sendable>(
        _ target: Target, _ body: (String) async throws -> Value
    ) async throws -> Value? {
        guard let file = try await session.lookup(target), file.state == .intact else { return nil }
        return try await session.withFile(target, body)
    }

    /// Keeps the files fresh until the task is cancelled.
    func keepFresh(_ show: (RunTotals) -> Void) async throws {
        var options = RunOptions()
        options.acceptsStale = true
        while !Task.isCancelled {
            do {
                try await refresh(options: options, show: show)
            } catch let error as MirrorError {
                // The disk is full, say: the next round tries again.
                print(error.message)
            }
            try await Task.sleep(for: .seconds(60))
        }
    }
}
