import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

@Suite struct DirectoryEntryTests {
    /// Short texts are kept otherwise than long ones.
    @Test(arguments: ["f", "a/f", "a-folder/with/a-long-path/and-a-long-name.txt"])
    func theNameIsTheEndOfThePath(path: String) throws {
        let folder = try TemporaryFolder()
        let opened = Descriptor(owning: open(folder.path, O_RDONLY | O_DIRECTORY))
        let entry = DirectoryEntry(folder: opened, path: path)
        #expect(try entry.status() == nil)
        let name = path.split(separator: "/").last.map(String.init)
        #expect(entry.name == name)
        _ = try entry.open(O_CREAT | O_EXCL | O_WRONLY, mode: 0o644)
        #expect(try opened.names(path: folder.path) == [name])
        let other = entry.sibling("g")
        #expect(other.path == path.dropLast(entry.name.utf8.count) + "g")
        try entry.renameToFree(other)
        #expect(try opened.names(path: folder.path) == ["g"])
        #expect(try other.status()?.isFile == true)
    }

    /// A file can be known by another path than the one that its name ends.
    @Test func aNameMayDifferFromThePathsEnd() throws {
        let folder = try TemporaryFolder()
        let opened = Descriptor(owning: open(folder.path, O_RDONLY | O_DIRECTORY))
        let entry = DirectoryEntry(folder: opened, name: "hidden", path: "shown/f")
        _ = try entry.open(O_CREAT | O_EXCL | O_WRONLY, mode: 0o644)
        #expect(entry.name == "hidden")
        #expect(try opened.names(path: folder.path) == ["hidden"])
    }
}
