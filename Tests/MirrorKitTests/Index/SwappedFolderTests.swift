import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

/// An index stays in the folder in which it was opened, whatever its name leads to by then.
@Suite struct SwappedFolderTests {
    let folder: TemporaryFolder
    private let now = Instant(milliseconds: 1_795_233_360_123)

    init() throws { folder = try TemporaryFolder() }

    /// Puts a link to an empty folder outside in the place of `.mirror`.
    private func swap() throws {
        try #require(rename(folder.path + "/.mirror", folder.path + "/held") == 0)
        try #require(mkdir(folder.path + "/outside", 0o755) == 0)
        try #require(symlink("outside", folder.path + "/.mirror") == 0)
    }

    private func names(_ name: String) -> [String] {
        Folder(folder.path + "/" + name).entries().map(\.name)
    }

    @Test func aLinkForAFolderIsNotFollowed() throws {
        let index = try Index.open(try RootDirectory(opening: folder.path), now: now)
        try swap()
        let record = try fullRecord("Documents/a")
        try index.write(durably: true) { (batch: inout Database) throws(IndexError) in
            try batch.put(record)
        }
        var cursor = try index.projectionCursor(from: "")
        #expect(try cursor.next())
        #expect(try cursor.rowTarget() == record.target)
        _ = consume cursor
        try index.close()
        #expect(names("outside") == [])
        #expect(names("held") == ["index.sqlite"])
    }

    @Test func readersOfASwappedFolderReadTheirFolder() throws {
        let index = try Index.open(try RootDirectory(opening: folder.path), now: now)
        try index.close()
        let reader = try Index.openForReading(try RootDirectory(opening: folder.path))
        try swap()
        var cursor = try reader.projectionCursor(from: "")
        #expect(try !cursor.next())
        #expect(names("outside") == [])
    }

    @Test func allConnectionsToAnIndexHaveOneDescriptor() throws {
        let index = try Index.open(try RootDirectory(opening: folder.path), now: now)
        let root = try RootDirectory(opening: folder.path)
        let first = IndexFile(
            folder: try root.openFolder(".mirror"), of: .whole, root: root)
        let second = IndexFile(
            folder: try root.openFolder(".mirror"), of: .whole, root: root)
        #expect(first.folderPath == second.folderPath)
        #expect(first.isOpen)
        try index.close()
        #expect(!second.isOpen)
    }
}
