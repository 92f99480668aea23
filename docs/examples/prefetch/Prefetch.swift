import MirrorKit

/// Keeps two files fresh beneath a folder, and shows the progress of the transfers.
///
/// Run it as `prefetch FOLDER BASE-URL`. If you interrupt it and run it again, it resumes where it
/// was.
@main
struct Prefetch {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let folder = arguments.first, let base = arguments.dropFirst().first else {
            print("usage: prefetch FOLDER BASE-URL")
            return
        }

        // The files that should be there. A manifest can also be read from a file:
        // `session.load(contentsOf:)`.
        var map = try Resource("Documents/world.pmtiles", from: base + "world.pmtiles")
        map.priority = 10
        let feed = try Resource(
            "Caches/feed.json", from: base + "feed.json", refresh: .after(.seconds(15 * 60)))
        let manifest = Manifest(name: "prefetch", resources: [map, feed])

        // A plan is a value: look at it, print it, or do not execute it.
        let session = try MirrorSession(root: folder)
        let plan = try await session.plan(manifest)
        for step in plan.steps { print("\(step.kind): \(step.target) (\(step.because))") }

        // Events arrive while it runs. Leaving this loop, or cancelling the task, keeps the parts.
        for try await event in session.execute(plan) {
            switch event.body {
            case .progress(let progress):
                print("\(progress.target): \(progress.bytes) bytes")
            case .done(let done): print("\(done.target): \(done.outcome)")
            case .failed(let failed): print(failed.error.message)
            case .summary(let summary): print("\(summary.requests) requests")
            default: break
            }
        }

        // The path of a file, its state, and how its bytes were verified.
        if let file = try await session.lookup(map.target) {
            print(session.path(of: file.target), file.state, file.verified?.rawValue ?? "unknown")
        }
    }
}
