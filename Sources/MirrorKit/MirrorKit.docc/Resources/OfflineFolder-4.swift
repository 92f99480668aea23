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

    /// Passes the path of a file that is there and whole to the body.
    func read<Value: Sendable>(
        _ target: Target, _ body: (String) async throws -> Value
    ) async throws -> Value? {
        guard let file = try await session.lookup(target), file.state == .intact else { return nil }
        return try await session.withFile(target, body)
    }
}
