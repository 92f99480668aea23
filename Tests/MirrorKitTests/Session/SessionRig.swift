@testable import MirrorKit
import MirrorTestSupport

/// A session on a root of its own, and an honest origin that it fetches from.
final class SessionRig: Sendable {
    let folder: TemporaryFolder
    let shelf = MemoryShelf()
    let origin: ShelfOrigin
    let server: OriginServer
    let session: MirrorSession

    /// Starts the origin; each of its bodies waits for `origin.release()` after `holdingAfter` bytes,
    /// and for nothing when that is nil.
    init(
        holdingAfter: Int? = nil, _ configure: (inout Configuration) -> Void = { _ in }
    ) throws {
        folder = try TemporaryFolder()
        origin = ShelfOrigin(shelf, holdingAfter: holdingAfter)
        server = try OriginServer(responder: origin)
        var configuration = Configuration()
        configuration.minFree = 0
        configure(&configuration)
        session = try MirrorSession(root: folder.path + "/root", configuration: configuration)
    }

    deinit { server.stop() }

    /// Puts bytes on the origin, and makes the resource that wants them.
    func resource(_ path: String, _ bytes: [UInt8]) throws -> Resource {
        let name = "/" + (path.split(separator: "/").last.map(String.init) ?? path)
        shelf.put(name, bytes)
        return Resource(target: try Target(path), url: try SourceURL(server.url + name))
    }

    /// What a file below the root holds.
    func bytes(_ path: String) -> [UInt8]? { folder.bytes(of: "root/" + path) }

    /// The parts that are there.
    var parts: [String] { folder.names(in: "root/tmp").filter { $0.hasSuffix(".part") } }
}
