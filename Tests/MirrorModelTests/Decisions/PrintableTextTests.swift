@testable import MirrorKit
import Testing

/// What a server or a manifest says, as a terminal may see it.
@Suite struct PrintableTextTests {
    @Test(arguments: [
        "", "Caches/a b.bin", "ä€😀", "日本語", "e\u{301}", "\u{A0}", "a\\b", "\"quoted\"",
    ])
    func printableTextIsUnchanged(text: String) {
        #expect(text.printable.utf8.elementsEqual(text.utf8))
    }

    @Test(
        arguments: [
            (0x00, "0"), (0x07, "7"), (0x0A, "a"), (0x0D, "d"), (0x1B, "1b"), (0x7F, "7f"),
            (0x85, "85"), (0x9B, "9b"), (0xAD, "ad"), (0x61C, "61c"), (0x200B, "200b"),
            (0x200E, "200e"), (0x2028, "2028"), (0x2029, "2029"), (0x202A, "202a"),
            (0x202E, "202e"),
            (0x2066, "2066"), (0x2069, "2069"), (0xFEFF, "feff"), (0xE000, "e000"),
            (0xFFFF, "ffff"), (0xE0041, "e0041"), (0x10FFFF, "10ffff"),
        ] as [(UInt32, String)])
    func controlCharactersAreShownByNumber(value: UInt32, digits: String) throws {
        let scalar = try #require(Unicode.Scalar(value))
        let text = "a" + String(Character(scalar)) + "b"
        #expect(text.printable == "a\\u{\(digits)}b")
    }

    @Test func aTwoByteLineEndIsTwoNumbers() {
        #expect("a\r\nb".printable == "a\\u{d}\\u{a}b")
    }

    @Test func partsOfTextArePrintedAlike() {
        #expect("x\u{1B}[2J".dropFirst().printable == "\\u{1b}[2J")
    }
}
