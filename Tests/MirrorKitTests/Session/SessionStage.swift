@testable import MirrorKit
import MirrorTestSupport

/// A session over an empty root, an origin with replies of its own, and manifests made in code.
struct SessionStage {
    let folder: Folder
    let session: MirrorSession
    let scenario: ScenarioServer

    /// - Parameter replies: the lines of a scenario's one phase, with `v1` and `v2` at hand.
    init(_ replies: String, jobs: Int = 16) throws {
        folder = try Folder.temporary()
        var configuration = Configuration()
        configuration.jobs = jobs
        session = try MirrorSession(root: folder.full("root"), configuration: configuration)
        scenario = try ScenarioServer(
            """
            A session's origin
            bytes v1 = 300000 seed=1
            bytes v2 = 300000 seed=2
            phase only
            \(replies)
              sync
            """)
    }

    static let v1 = TestBytes.make(300_000, seed: 1)
    static let v2 = TestBytes.make(300_000, seed: 2)

    func end() {
        scenario.server.stop()
        folder.remove()
    }

    /// A manifest of targets in Caches, each fetched from the path of its name.
    func manifest(_ names: String...) throws -> Manifest {
        Manifest(name: "stage", resources: try names.map { try resource($0) })
    }

    func resource(_ name: String) throws -> Resource {
        Resource(
            target: try Target("Caches/\(name)"),
            url: try SourceURL("\(scenario.server.url)/\(name)", relativeTo: nil))
    }

    func read(_ name: String) -> [UInt8]? { folder.read("root/Caches/\(name)") }

    var parts: [String] {
        folder.entries(beneath: "root/tmp").map(\.name).filter { $0.hasSuffix(".part") }
    }

    /// A request of the test's own, which replies that wait for a number of requests count too.
    func knock() async throws {
        let url = scenario.server.url + "/knock"
        _ = try await DetachedThread.run { try Command.run("/usr/bin/curl", ["-s", url]) }
    }

    /// Waits until the origin has had so many requests.
    func requests(_ count: Int) async throws {
        let script = scenario.script
        try await DetachedThread.run {
            while script.requests.count < count { Pause.milliseconds(2) }
        }
    }
}

extension Event {
    /// The target of an event that ends a resource, with `done` or `failed` before it.
    var ending: String? {
        switch body {
        case .done(let done): "done \(done.target.name)"
        case .failed(let failed): "failed \(failed.target.name)"
        default: nil
        }
    }
}
