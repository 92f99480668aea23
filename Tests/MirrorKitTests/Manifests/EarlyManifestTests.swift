import Glibc
import MirrorManifests
import MirrorModel
import MirrorStore
import MirrorTestSupport
import Testing

@testable import MirrorKit

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

    /// Most of these claims come while it is read.
    @Test func whoClaimsItMeanwhileWaitsForIt() async throws {
        let many = (0..<4000).map { #"{"path":"Caches/\#($0)","url":"http://127.0.0.1:9/\#($0)"}"# }
        try folder.write(
            #"{"name":"many","resources":[\#(many.joined(separator: ","))]}"#, to: "m.json")
        for pause in 0..<10 {
            let early = early()
            async let reading: Void = DetachedThread.run { early.read() }
            Pause.milliseconds(pause)
            // A claim before the thread began is answered at once.
            if let loaded = await early.claim(path) {
                #expect(loaded.decoded.manifest.resources.count == 4000)
            }
            try await reading
            #expect(await early.claim(path) == nil)
        }
    }

    /// An error is for who reads it once they know that it is asked for.
    @Test func whatIsNoShortManifestIsLeftToOthers() async throws {
        try folder.write("{", to: "broken.json")
        try folder.write(Array(repeating: UInt8(ascii: " "), count: 2 << 20), to: "long.json")
        #expect(mkdir(folder.path + "/folder.json", 0o755) == 0)
        // To open it would wait for who writes into it.
        #expect(mkfifo(folder.path + "/pipe.json", 0o644) == 0)
        for name in ["broken.json", "long.json", "folder.json", "pipe.json", "absent.json"] {
            let early = early(name)
            early.read()
            #expect(await early.claim(folder.path + "/" + name) == nil, "\(name)")
        }
    }

    @Test func aLoaderTakesItInsteadOfReadingTheFile() async throws {
        let early = early()
        early.read()
        try folder.write(#"{"name":"later","resources":[]}"#, to: "m.json")
        let loader = ManifestLoader(
            view: TreeView(root: nil, index: nil), configuration: Configuration(), isOffline: true)
        try await EarlyManifest.$current.withValue(early) {
            let names = [
                try await loader.load(.path(path)).decoded.manifest.name,
                try await loader.load(.path(path)).decoded.manifest.name,
            ]
            #expect(names == ["maps", "later"])
        }
    }

    /// What a list is read with changes what it says.
    @Test func aLoaderWithAHintReadsTheFile() async throws {
        let early = early()
        early.read()
        var hint = ListHint()
        hint.name = "mine"
        let loader = ManifestLoader(
            view: TreeView(root: nil, index: nil), configuration: Configuration(), isOffline: true,
            hint: hint)
        try await EarlyManifest.$current.withValue(early) {
            _ = try? await loader.load(.path(path))
        }
        #expect(await early.claim(path) != nil)
    }
}
