import MirrorKit
import MirrorTestSupport
import Testing

/// The library in ten lines, as the README shows it.
private func readmeExample() async throws {
    let session = try MirrorSession(root: "maps")
    let url = "https://origin.example/world.pmtiles"
    let map = try Resource("Documents/world.pmtiles", from: url)
    let manifest = Manifest(name: "maps", resources: [map])

    for try await event in session.execute(try await session.plan(manifest)) {
        if case .failed(let failed) = event.body { print(failed.error.message) }
    }
    if let file = try await session.lookup(map.target) {
        print(session.path(of: file.target), file.state)
    }
}

/// What the README shows is what is compiled here.
@Suite struct ReadmeExampleTests {
    @Test func everyLineOfTheReadmeIsCompiled() throws {
        let root = Folder(#filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined())
        let readme = String(decoding: try #require(root.read("README.md")), as: UTF8.self)
        let here = try #require(root.read("Tests/MirrorKitTests/ReadmeExampleTests.swift"))
        let compiled = Set(ReadmeExampleTests.lines(String(decoding: here, as: UTF8.self)))
        let block = try #require(readme.split(separator: "```swift\n").dropFirst().first)
        let shown = ReadmeExampleTests.lines(try #require(block.split(separator: "```").first))
        #expect(shown.count > 8)
        for line in shown { #expect(compiled.contains(line), "README.md: \(line)") }
    }

    private static func lines(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n").map { String($0.drop { $0 == " " }) }.filter { !$0.isEmpty }
    }
}
