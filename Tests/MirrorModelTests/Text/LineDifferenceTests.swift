@testable import MirrorKit
import Testing

/// The difference that `mirror resolve --diff` shows.
@Suite struct LineDifferenceTests {
    private func difference(_ old: String, _ new: String) -> LineDifference {
        LineDifference(from: Array(old.utf8), to: Array(new.utf8))
    }

    @Test(arguments: [
        ("a\nb\nc\n", "a\nx\nc\n", ["@@ -1,3 +1,3 @@", " a", "-b", "+x", " c"]),
        ("", "a\n", ["@@ -0,0 +1,1 @@", "+a"]),
        ("a\n", "", ["@@ -1,1 +0,0 @@", "-a"]),
        ("a", "a\n", ["@@ -1,1 +1,1 @@", "-a", "\\ No newline at end of file", "+a"]),
        ("a\r\n", "a\n", ["@@ -1,1 +1,1 @@", "-a\r", "+a"]),
        // One character is composed, the other not: they look alike, and the bytes differ.
        ("\u{E9}\n", "e\u{301}\n", ["@@ -1,1 +1,1 @@", "-\u{E9}", "+e\u{301}"]),
    ])
    func changedLinesHaveMarks(_ old: String, _ new: String, _ lines: [String]) {
        #expect(difference(old, new) == .lines(lines, more: 0))
    }

    @Test func distantChangesAreGroupsOfTheirOwn() {
        let lines = (1...20).map { "\($0)\n" }
        var changed = lines
        (changed[1], changed[18]) = ("two\n", "nineteen\n")
        let expected = [
            "@@ -1,5 +1,5 @@", " 1", "-2", "+two", " 3", " 4", " 5",
            "@@ -16,5 +16,5 @@", " 16", " 17", " 18", "-19", "+nineteen", " 20",
        ]
        #expect(difference(lines.joined(), changed.joined()) == .lines(expected, more: 0))
    }

    @Test func aLongDifferenceIsCut() {
        let old = (1...90).map { "\($0)\n" }.joined()
        guard case .lines(let lines, let more) = difference(old, "") else {
            Issue.record("no lines")
            return
        }
        #expect((lines.count, more) == (91, 0))
        let longer = (1...LineDifference.mostLines).map { "\($0)\n" }.joined()
        let cut = difference(longer, "")
        guard case .lines(let lines, let more) = cut else {
            Issue.record("\(cut)")
            return
        }
        #expect((lines.count, more) == (100, LineDifference.mostLines + 1 - 100))
    }

    @Test func whatCannotBeComparedIsNamed() {
        #expect(difference("a", "a") == .same)
        #expect(difference("a", "\0") == .noText)
        #expect(LineDifference(from: [0xFF], to: [0x61]) == .noText)
        let lines = String(repeating: "\n", count: LineDifference.mostLines + 1)
        #expect(difference("a", lines) == .tooLong)
        let bytes = [UInt8](repeating: 0x61, count: LineDifference.mostBytes + 1)
        #expect(LineDifference(from: bytes, to: bytes) == .tooLong)
    }
}
