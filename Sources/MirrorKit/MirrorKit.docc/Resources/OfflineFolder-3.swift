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
    func refresh(show: (RunTotals) -> Void) async throws {
        let plan = try await session.plan(manifest)
        for try await event in session.execute(plan) {
            switch event.body {
            case .progress: show(event.totals)
            case .failed(let failed): print(failed.error.message)
            default: break
            }
        }
    }
}
