import Testing

@testable import MirrorKit

@Suite struct SoundTextTests {
    @Test(
        arguments: [
            [], [0x00], Array("index".utf8), Array("Zoë 🌍".utf8), [0x7F],
            Array(String(repeating: "long and plain ", count: 20).utf8),
        ] as [[UInt8]])
    func utf8BecomesItsText(_ bytes: [UInt8]) {
        #expect(String(sound: bytes).map { Array($0.utf8) } == bytes)
    }

    /// A stray byte, half a character, a longer form than needed, a surrogate, beyond Unicode. The third has
    /// as many bytes as the mark that would stand for it.
    @Test(
        arguments: [
            [0x61, 0xFF], [0xC3], [0xF0, 0x90, 0x80], [0xC0, 0xAF], [0xED, 0xA0, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0x80],
        ] as [[UInt8]])
    func malformedUTF8IsNoSoundText(_ bytes: [UInt8]) {
        #expect(String(sound: bytes) == nil)
    }
}
