import Testing

@testable import MirrorKit

/// Bytes stay as they were appended, whatever is appended to copies, and through the ends of blocks.
@Suite struct ByteArenaTests {
    private func append(_ text: String, to arena: inout ByteArena) -> ByteArena.Position {
        let position = arena.reserve(text.utf8.count)
        var text = text
        text.withUTF8 { arena.append($0) }
        return position
    }

    private func text(at position: ByteArena.Position, _ count: Int, in arena: ByteArena) -> String
    {
        arena.withBytes(at: position, count: count) { String(decoding: $0, as: UTF8.self) }
    }

    @Test func aGrowingCopyKeepsItsBytes() {
        var one = ByteArena()
        let first = append("first", to: &one)
        var two = one
        let inOne = append("one", to: &one)
        let inTwo = append("two", to: &two)
        #expect(text(at: first, 5, in: one) == "first")
        #expect(text(at: first, 5, in: two) == "first")
        #expect(text(at: inOne, 3, in: one) == "one")
        #expect(text(at: inTwo, 3, in: two) == "two")
        one = ByteArena()
        #expect(text(at: first, 5, in: two) == "first")
        #expect(text(at: inTwo, 3, in: two) == "two")
    }

    @Test func valuesLieInOneBlockEach() {
        var arena = ByteArena()
        let long = String(repeating: "x", count: 3 << 20)
        let texts =
            ["a", long, "", "b"] + (0..<5).map { String(repeating: "\($0)", count: 300_000) }
        let positions = texts.map { append($0, to: &arena) }
        for (text, position) in zip(texts, positions) {
            #expect(self.text(at: position, text.utf8.count, in: arena) == text)
        }
        #expect(text(at: positions[1], 2, in: arena) == "xx")
        #expect(
            arena.withBytes(at: positions[8], offset: 2, count: 3) { Array($0) } == [52, 52, 52])
    }

    @Test func blocksOfAnotherArenaAreTakenOver() {
        var one = ByteArena()
        let first = append("first", to: &one)
        var two = ByteArena()
        let second = append("second", to: &two)
        let kept = two
        let moved = one.append(blocksOf: two)
        let third = append("third", to: &one)
        #expect(text(at: first, 5, in: one) == "first")
        #expect(text(at: second + moved, 6, in: one) == "second")
        #expect(text(at: third, 5, in: one) == "third")
        #expect(text(at: second, 6, in: kept) == "second")
    }
}
