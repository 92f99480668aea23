import Glibc
import MirrorManifests
import MirrorModel
import MirrorStore
import MirrorTestSupport
import Synchronization
import Testing

@testable import MirrorKit
@testable import MirrorSystem

/// A manifest that is read while the command line is parsed.
@Suite(.timeLimit(.minutes(1))) struct EarlyManifestTests {
    private static let text =
        #"{"name":"maps","resources":[{"path":"Caches/a","url":"http://127.0.0.1:9/a"}]}"#

    private let folder: TemporaryFolder
    private var path: String { folder.path + "/m.json" }

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(Self.text, to: "m.json")
    }

    private func early(_ name: String = "m.json") -> EarlyManifest {
        EarlyManifest(path: folder.path + "/" + name, expectsRequests: false)
    }

    @Test func itIsHandedOverOnceAndToWhoNamesItsPath() async {
        let early = early()
        early.read()
        #expect(await early.claim(folder.path + "/other.json") == nil)
        let loaded = await early.claim(path)
        #expect(loaded?.decoded.manifest.name == "maps")
        #expect(loaded?.memory?.record.stamp?.size == Int64(Self.text.utf8.count))
        #expect(await early.claim(path) == nil)
    }

    @Test func whoClaimsItBeforeItIsBegunReadsItWithoutWaiting() async throws {
        let early = early()
        #expect(await early.claim(path) == nil)
        early.read()
        #expect(await early.claim(path) == nil)
    }

    /// Whoever begins first decides: either it is read and handed over, or it is not read at all.
    @Test func whoClaimsItMeanwhileWaitsForIt() async throws {
        let many = (0..<4000).map { #"{"path":"Caches/\#($0)","url":"http://127.0.0.1:9/\#($0)"}"# }
        try folder.write(
            #"{"name":"many","resources":[\#(many.joined(separator: ","))]}"#, to: "m.json")
        for pause in 0..<10 {
            let early = early()
            let hasBegun = Mutex<Bool?>(nil)
            let isDone = Semaphore()
            DetachedThread.start {
                let begins = early.read()
                hasBegun.withLock { $0 = begins }
                isDone.post()
            }
            Pause.milliseconds(pause)
            let loaded = await early.claim(path)
            try await DetachedThread.run { isDone.wait() }
            #expect((loaded != nil) == hasBegun.withLock { $0 })
            if let loaded { #expect(loaded.decoded.manifest.resources.count == 4000) }
            #expect(await early.claim(path) == nil)
        }
    }

    @Test func whatIsDroppedIsNotHandedOver() async {
        let early = early()
        early.read()
        early.drop()
        #expect(await early.claim(path) == nil)
    }

    /// An error is for who reads it once they know that it is asked for.
    @Test func whatIsNoShortManifestIsLeftToOthers() async throws {
        try folder.write("{", to: "broken.json")
        let blanks = String(repeating: " ", count: 1 << 20)
        try folder.write(Self.text + blanks, to: "long.json")
        #expect(mkdir(folder.path + "/folder.json", 0o755) == 0)
        for name in ["broken.json", "long.json", "folder.json", "absent.json"] {
            let early = early(name)
            #expect(early.read())
            #expect(await early.claim(folder.path + "/" + name) == nil, "\(name)")
        }
        #expect(try LocalManifest.read(folder.path + "/long.json").decoded.manifest.name == "maps")
    }

    /// To open a pipe would wait for who writes into it, and what is read from it is gone.
    @Test func aPipeIsLeftToOthers() async throws {
        let path = folder.path + "/pipe.json"
        #expect(mkfifo(path, 0o644) == 0)
        let writer = open(path, O_RDWR)
        try #require(writer >= 0)
        defer { close(writer) }
        let bytes = Array(Self.text.utf8)
        #expect(write(writer, bytes, bytes.count) == bytes.count)
        let early = early("pipe.json")
        let isDone = Semaphore()
        DetachedThread.start {
            early.read()
            isDone.post()
        }
        #expect(try await DetachedThread.run { isDone.wait(seconds: 10) })
        var left = [UInt8](repeating: 0, count: bytes.count)
        #expect(fcntl(writer, F_SETFL, O_NONBLOCK) == 0)
        #expect(read(writer, &left, left.count) == bytes.count)
    }

    private func loader(_ hint: ListHint = ListHint()) -> ManifestLoader {
        ManifestLoader(
            view: TreeView(root: nil, index: nil), configuration: Configuration(), isOffline: true,
            hint: hint)
    }

    @Test func aLoaderTakesItInsteadOfReadingTheFile() async throws {
        let early = early()
        early.read()
        try await EarlyManifest.$current.withValue(early) {
            let loaded = try await loader().load(.path(path))
            #expect(loaded.decoded.manifest.name == "maps")
        }
        #expect(await early.claim(path) == nil)
    }

    /// Minutes may be between, in which another manifest is fetched or read from standard input.
    @Test func aLoaderReadsAFileThatHasChanged() async throws {
        let early = early()
        early.read()
        try folder.write(#"{"name":"later","resources":[]}"#, to: "m.json")
        try await EarlyManifest.$current.withValue(early) {
            let loaded = try await loader().load(.path(path))
            #expect(loaded.decoded.manifest.name == "later")
        }
    }

    /// What a list is read with changes what it says.
    @Test func aLoaderWithAHintReadsTheFile() async throws {
        let early = early()
        early.read()
        var hint = ListHint()
        hint.name = "mine"
        try await EarlyManifest.$current.withValue(early) {
            _ = try? await loader(hint).load(.path(path))
        }
        #expect(await early.claim(path) != nil)
    }
}
