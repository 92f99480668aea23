@testable import MirrorKit
import Testing

@Suite struct TargetTests {
    @Test(arguments: [
        "Documents/a", "Caches/a/b.c", "tmp/x", "tmp/a/b.part", "Caches/…/é", "Caches/..a",
    ])
    func pathsBeneathTheAreasAreTargets(path: String) throws {
        #expect(try Target(path).path == path)
    }

    @Test(arguments: [
        ("/etc/passwd", TargetError.Reason.absolute), ("/Caches/a", .absolute),
        ("", .outsideAreas(suggestion: nil)),
        ("data/x", .outsideAreas(suggestion: "Caches/data/x")),
        ("caches/x", .outsideAreas(suggestion: "Caches/x")),
        ("TMP/x", .outsideAreas(suggestion: "tmp/x")),
        ("Caches", .areaItself), ("Caches/", .emptyComponent), ("Caches//a", .emptyComponent),
        ("Caches/../x", .dotComponent("..")), ("Caches/./x", .dotComponent(".")),
        ("../x", .dotComponent("..")), ("Caches/a/..", .dotComponent("..")),
        ("Caches/a\u{0}b", .controlCharacter), ("Caches/a\nb", .controlCharacter),
        ("Caches/a\u{7F}", .controlCharacter), ("Caches/a\u{9B}m", .controlCharacter),
        ("tmp/x.part", .partName), ("tmp/.part", .partName),
    ])
    func pathsThatAreNoTargetsAreRefused(path: String, reason: TargetError.Reason) {
        let flaw = #expect(throws: TargetError.self) { try Target(path) }
        #expect(flaw?.reason == reason)
        #expect(flaw?.description == "\(Quoted(path)): \(reason)")
    }

    @Test func targetLengthsAreCountedInBytes() throws {
        let longest = String(repeating: "é", count: 127) + "x"
        #expect(throws: Never.self) { try Target("Caches/" + longest) }
        let long = #expect(throws: TargetError.self) { try Target("Caches/" + longest + "x") }
        #expect(long?.reason == .longComponent(bytes: 256))
        let deep = "Caches/" + String(repeating: "a/", count: 1600) + "x"
        let tooDeep = #expect(throws: TargetError.self) { try Target(deep) }
        #expect(tooDeep?.reason == .longPath(bytes: deep.utf8.count))
    }

    @Test func composedAndDecomposedNamesAreTwoTargets() throws {
        let composed = try Target("Caches/\u{E9}")
        let decomposed = try Target("Caches/e\u{301}")
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
        #expect(decomposed < composed)
    }

    /// A slash or a dot with a combining mark behind it is one Character, but still ends a name.
    @Test func combiningMarksHideNoSlashOrDot() throws {
        let target = try Target("Caches/\u{301}a/\u{301}b.\u{308}Txt")
        #expect(
            target.components.map(String.init) == ["Caches", "\u{301}a", "\u{301}b.\u{308}Txt"])
        #expect(target.name.utf8.elementsEqual("\u{301}b.\u{308}Txt".utf8))
        #expect(target.folder.utf8.elementsEqual("Caches/\u{301}a".utf8))
        #expect(target.fileExtension == "\u{308}txt")
    }

    @Test func aSuggestionIsATargetItself() {
        let none = #expect(throws: TargetError.self) { try Target("TMP/a.part") }
        #expect(none?.reason == .outsideAreas(suggestion: nil))
        let one = #expect(throws: TargetError.self) { try Target("TMP/a.txt") }
        #expect(one?.reason == .outsideAreas(suggestion: "tmp/a.txt"))
    }

    @Test func aTargetKnowsItsAreaFolderAndName() throws {
        let target = try Target("Documents/a/b.txt")
        #expect(target.area == .documents)
        #expect(target.folder == "Documents/a")
        #expect(target.name == "b.txt")
        #expect(try target.sibling(named: "c") == Target("Documents/a/c"))
    }
}
