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
}
