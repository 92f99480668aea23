import Testing

@testable import MirrorKit

@Suite struct DigestListTests {
    private static let one = String(repeating: "1", count: 64)
    private static let two = String(repeating: "2", count: 64)

    @Test(arguments: ["\n", "\r\n"])
    func everyLineHasADigest(end: String) throws {
        let text = ["# of a site", Self.one, "", Self.two + "  Caches/a", ""]
            .joined(separator: end)
        #expect(try DigestList.read(text, file: "f").count == 2)
    }

    @Test(arguments: ["sha256", "\(String(repeating: "1", count: 63))", "\u{FEFF}x"])
    func anotherWordIsRefused(text: String) {
        #expect(throws: ManifestError.self) { try DigestList.read(text, file: "f") }
    }
}
