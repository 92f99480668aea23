import MirrorKit

/// The files that an app has at hand without a network.
struct OfflineFolder {
    let session: MirrorSession
    let manifest: Manifest

    init(at folder: String, from base: String) throws {
        session = try MirrorSession(root: folder)
        let guide = try Resource(
            "Documents/guide.pdf", from: base + "guide.pdf",
            refresh: .after(.seconds(7 * 86400)))
        let news = try Resource(
            "Caches/news.json", from: base + "news.json", refresh: .after(.seconds(15 * 60)))
        manifest = Manifest(name: "offline-folder", resources: [guide, news])
    }

    /// Fetches what is missing or due.
    func refresh() async throws {
        let summary = try await session.sync(manifest)
        print("\(summary[.fetched]) new, \(summary[.kept]) fresh, \(summary[.failed]) failed")
    }
}
