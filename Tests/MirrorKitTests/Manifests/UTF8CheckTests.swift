import Testing

@testable import MirrorKit

/// Strict UTF-8 (Unicode, Table 3-7), however the bytes come.
@Suite struct UTF8CheckTests {
    /// How many bytes come before the first bad one; nil when there is none.
    private func good(_ bytes: [UInt8], step: Int) -> Int? {
        var check = UTF8Check()
        for start in stride(from: 0, to: bytes.count, by: step) {
            let chunk = Array(bytes[start..<min(start + step, bytes.count)])
            let count = check.advance(over: chunk)
            if count < chunk.count { return start + count }
        }
        return check.isInside ? bytes.count : nil
    }

    @Test(arguments: [1, 2, 100])
    func utf8OfEveryLengthIsAccepted(step: Int) {
        let text = "a\u{7F}\u{80}\u{7FF}\u{800}\u{D7FF}\u{E000}\u{FFFF}\u{10000}\u{10FFFF}"
        #expect(good(Array(text.utf8), step: step) == nil)
    }

    @Test(
        arguments: [
            [0x80], [0xBF], [0xC0, 0xAF], [0xC1, 0xBF], [0xC2], [0xC2, 0x41], [0xE0, 0x9F, 0xBF],
            [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xE2, 0x82],
            [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFE],
            [0xFF],
        ] as [[UInt8]])
    func malformedUTF8IsRefused(bytes: [UInt8]) {
        for step in [1, 2, 100] {
            let found = good(Array("ok".utf8) + bytes + [0x41], step: step)
            #expect(found.map { $0 < 2 + bytes.count + 1 } == true)
        }
    }

    @Test func malformedBytesAreReportedWithTheirOffset() {
        var check = UTF8Check()
        #expect(check.advance(over: Array("é\nüx".utf8) + [0xFF]) == 6)
        #expect(check.position == TextPosition(line: 2, column: 3))
    }
}
