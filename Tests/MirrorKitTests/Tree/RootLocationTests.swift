import MirrorTestSupport
import Testing

@testable import MirrorKit

@Suite struct RootLocationTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func locate(
        _ root: String? = nil, from current: String, variable: String? = nil, home: String? = nil
    ) throws -> RootLocation {
        try RootLocation(
            root: root, currentFolder: current, variable: variable, home: home)
    }

    @Test func theOptionComesBeforeTheVariable() throws {
        #expect(try locate("/a", from: "/c", variable: "/b").path == "/a")
        #expect(try locate(from: "/c", variable: "/b").path == "/b")
        #expect(try locate("a", from: "/c").path == "/c/a")
    }

    @Test func theNearestAncestorWithAnIndexIsTaken() throws {
        try folder.write("", to: "top/.mirror/lock")
        try folder.write("", to: "top/a/b/file")
        let top = folder.path + "/top"
        #expect(try locate(from: top + "/a/b").path == top)
        #expect(try locate(from: top).path == top)
    }

    @Test func emptyFolderBecomesARoot() throws {
        #expect(try locate(from: folder.path, variable: "").path == folder.path)
    }

    @Test(arguments: ["Documents", "Caches", "tmp"])
    func aFolderWithAnAreaIsRefused(area: String) throws {
        try folder.write("", to: area + "/file")
        let error = #expect(throws: MirrorError.self) { try locate(from: folder.path) }
        #expect(error?.code == .rootUnusable)
        #expect(error?.remedy == Remedy(.chooseRoot))
    }

    /// After `rm -r .mirror Caches` it is left over.
    @Test func aTmpThatMirrorMadeIsNoObstacle() throws {
        let part = "tmp/a.bin." + String(repeating: "0a", count: 16) + ".part"
        try folder.write("", to: part)
        #expect(try locate(from: folder.path).path == folder.path)
        try folder.write("", to: "tmp/other")
        #expect(throws: MirrorError.self) { try locate(from: folder.path) }
    }

    @Test func homeAndTopAreRefusedUnlessNamed() throws {
        let top = #expect(throws: MirrorError.self) { try locate(from: "/") }
        #expect(top?.message.contains("the file system's root") == true)
        #expect(throws: MirrorError.self) { try locate(from: folder.path, home: folder.path) }
        #expect(try locate(folder.path, from: "/", home: folder.path).path == folder.path)
    }
}
