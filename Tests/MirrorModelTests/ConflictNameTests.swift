@testable import MirrorKit
import Testing

@Suite struct ConflictNameTests {
    private let time = Instant(milliseconds: 1_795_233_360_000)

    @Test(arguments: [
        ("Documents/a.txt", 1, "Documents/a.mirror-conflict-20261121T035600Z.txt"),
        ("Documents/a.txt", 2, "Documents/a.mirror-conflict-20261121T035600Z-2.txt"),
        ("Documents/x/a.tar.gz", 1, "Documents/x/a.tar.mirror-conflict-20261121T035600Z.gz"),
        ("Documents/README", 1, "Documents/README.mirror-conflict-20261121T035600Z"),
        ("Documents/.bashrc", 1, "Documents/.bashrc.mirror-conflict-20261121T035600Z"),
        ("Documents/a.", 1, "Documents/a.mirror-conflict-20261121T035600Z."),
    ])
    func theTimeStandsBeforeTheExtension(path: String, attempt: Int, expected: String) throws {
        let name = ConflictCopy.make(for: try Target(path), at: time, attempt: attempt)
        #expect(name?.path == expected)
    }

    @Test(arguments: ["é", "\u{1F600}", "a"])
    func aLongStemIsCutAtACharacter(character: String) throws {
        let stem = String(repeating: character, count: 248 / character.utf8.count)
        let name = try #require(
            ConflictCopy.make(for: try Target("Documents/" + stem + ".bin"), at: time, attempt: 12))
        #expect(name.name.utf8.count <= 255)
        #expect(name.name.utf8.count > 255 - character.utf8.count)
        #expect(name.name.hasSuffix(".mirror-conflict-20261121T035600Z-12.bin"))
        #expect(!name.name.unicodeScalars.contains("\u{FFFD}"))
    }

    @Test func aFolderWithoutRoomHasNoConflictName() throws {
        let folder = Array(repeating: String(repeating: "d", count: 200), count: 15)
        let path = "Documents/" + folder.joined(separator: "/") + "/"
        let room = Target.longestPath - path.utf8.count
        let target = try Target(path + "f")
        #expect((ConflictCopy.make(for: target, at: time) == nil) == (room < 33))
        let tight = try Target(path + String(repeating: "g", count: room - 25) + "/h")
        #expect(ConflictCopy.make(for: tight, at: time) == nil)
    }
}
