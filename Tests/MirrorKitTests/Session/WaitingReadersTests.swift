import Glibc
@testable import MirrorKit
import MirrorTestSupport
import Testing

/// Readers that come while a new version is being put in place.
@Suite(.timeLimit(.minutes(5))) struct WaitingReadersTests {
    private let rig: SessionRig
    private let target: Target

    init() throws {
        rig = try SessionRig { $0.jobs = 1 }
        target = try Target("Caches/a")
    }

    @Test func aFileIsKeptForItsLastReader() async throws {
        try await rig.session.sync(manifest(1))
        let (first, second) = try await readersThatWaited()
        let before = rig.bytes("Caches/a")
        first.end()
        try await first.task.value
        let manifest = try manifest(100)
        let sync = Task { try await rig.session.sync(manifest) }
        // The next file comes after this one, so by then nothing but the reader holds it back.
        while rig.bytes("Caches/b") != [100] { try await Task.sleep(for: .milliseconds(5)) }
        for _ in 0..<500 { await Task.yield() }
        #expect(rig.bytes("Caches/a") == before)
        second.end()
        #expect(try await sync.value.exit == 0)
        #expect(rig.bytes("Caches/a") == [100])
    }

    private func manifest(_ version: UInt8) throws -> Manifest {
        var first = try rig.resource("Caches/a", [version])
        first.priority = 1
        return Manifest(name: "m", resources: [first, try rig.resource("Caches/b", [version])])
    }

    /// Two readers that came while a version was put in place, which another program's hold on the index
    /// makes last. Tries again where they came before it.
    private func readersThatWaited() async throws -> (Reader, Reader) {
        for version in UInt8(2)..<50 {
            let shelf = MemoryShelf()
            shelf.put("/a", [version, version])
            let origin = ShelfOrigin(shelf, holdingAfter: 1)
            let server = try OriginServer(responder: origin)
            defer { server.stop() }
            let resource = Resource(target: target, url: try SourceURL(server.url + "/a"))
            let manifest = Manifest(name: "m", resources: [resource])
            let sync = Task { try await rig.session.sync(manifest) }
            while origin.requests.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            let hold = try await IndexHold(rig.folder.path + "/root/.mirror/index.sqlite")
            origin.release()
            try await Task.sleep(for: .milliseconds(20 * Int(version)))
            let readers = (0..<2).map { _ in Reader(rig, target) }
            // A longer hold would fail the promotion on a busy machine: SQLite waits ten seconds.
            for _ in 0..<100 { await Task.yield() }
            try hold.end()
            let seen = [await readers[0].sight(), await readers[1].sight()]
            if seen.allSatisfy({ $0 == [version, version] }) {
                _ = try await sync.value
                return (readers[0], readers[1])
            }
            for reader in readers { reader.end() }
            _ = try await sync.value
        }
        throw StoryFailure("no reader came in time")
    }
}

/// A reader of a file, until it is told to end.
private struct Reader {
    let task: Task<Void, any Error>
    private let sights: AsyncStream<[UInt8]?>
    private let ends: AsyncStream<Void>.Continuation

    init(_ rig: SessionRig, _ target: Target) {
        let (sights, seen) = AsyncStream.makeStream(of: [UInt8]?.self)
        let (until, ends) = AsyncStream.makeStream(of: Void.self)
        (self.sights, self.ends) = (sights, ends)
        task = Task {
            try await rig.session.withFile(target) { _ in
                seen.yield(rig.bytes(target.path))
                for await _ in until {}
            }
        }
    }

    /// What it reads first.
    func sight() async -> [UInt8]? {
        for await sight in sights { return sight }
        return nil
    }

    func end() { ends.finish() }
}

/// A program that writes to an index, and so keeps all others from it.
private struct IndexHold {
    private static let script = """
        import sqlite3, sys, os
        index = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=5)
        index.execute('BEGIN IMMEDIATE')
        open(sys.argv[2] + '.held', 'w').close()
        open(sys.argv[2]).read()
        """

    private let folder: TemporaryFolder
    private let program: Command

    init(_ path: String) async throws {
        folder = try TemporaryFolder()
        let pipe = folder.path + "/end"
        guard mkfifo(pipe, 0o600) == 0 else { throw StoryFailure("mkfifo(3) failed") }
        program = try Command("/usr/bin/python3", ["-c", Self.script, path, pipe])
        let (folder, program) = (folder, program)
        try await DetachedThread.run {
            while folder.bytes(of: "end.held") == nil {
                if program.hasEnded { throw StoryFailure("no hold: \(program.wait())") }
                Pause.milliseconds(2)
            }
        }
    }

    func end() throws {
        try folder.write([1], to: "end")
        _ = program.wait()
    }
}
