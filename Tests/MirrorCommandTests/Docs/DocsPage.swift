import MirrorTestSupport
import Testing

/// A file of the repository, most often a page of Markdown, taken apart as far as tests ask.
struct DocsPage: Sendable, CustomTestStringConvertible {
    /// The repository.
    static let repository = Folder(
        #filePath.split(separator: "/").dropLast(4).map { "/" + $0 }.joined())

    /// All pages: the README and everything below `docs/`.
    static var all: [DocsPage] {
        let pages = repository.entries(beneath: "docs").map(\.name).filter { $0.hasSuffix(".md") }
        return (["README.md"] + pages).map(DocsPage.init)
    }

    /// The path from the repository.
    let path: String

    init(_ path: String) { self.path = path }

    var testDescription: String { path }

    /// The whole text.
    func text() throws -> String {
        let bytes = try #require(DocsPage.repository.read(path), "\(path) is not there")
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The words in code type in the first column of the tables below a heading.
    func tableKeys(beneath heading: String) throws -> Set<String> {
        var keys: Set<String> = []
        var isBeneath = false
        for line in try text().split(separator: "\n") {
            if line.hasPrefix("#") { isBeneath = line.drop { $0 == "#" } == " " + heading }
            guard isBeneath, line.hasPrefix("|") else { continue }
            let cell = line.dropFirst().prefix { $0 != "|" }
            keys.formUnion(DocsPage.codeWords(in: cell))
        }
        return keys
    }

    /// The words between single backticks.
    static func codeWords(in text: some StringProtocol) -> [String] {
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
    }

    /// Where links lead, as written, outside of code blocks; `#anchor` included.
    func links() throws -> [String] {
        var links: [String] = []
        var isCode = false
        for line in try text().split(separator: "\n") {
            if line.drop(while: { $0 == " " }).hasPrefix("```") { isCode.toggle() }
            if isCode { continue }
            for piece in line.split(separator: "](", omittingEmptySubsequences: false).dropFirst() {
                links.append(String(piece.prefix { $0 != ")" }))
            }
        }
        return links
    }

    /// The anchors that its headings have, as GitHub and GitLab make them.
    func anchors() throws -> Set<String> {
        let headings = try text().split(separator: "\n").filter { $0.hasPrefix("#") }
        return Set(
            headings.map { heading in
                let words = heading.drop { $0 == "#" }.dropFirst().lowercased()
                return String(
                    words.compactMap { character -> Character? in
                        if character == " " { return "-" }
                        let isKept =
                            character.isLetter || character.isNumber || "-_".contains(character)
                        return isKept ? character : nil
                    })
            })
    }
}

extension DocsPage {
    /// Every string literal that follows a text in a source file, e.g. a call's first argument.
    static func literals(after call: String, in path: String) throws -> [String] {
        try DocsPage(path).text().split(separator: call + "\"", omittingEmptySubsequences: false)
            .dropFirst().map { String($0.prefix { $0 != "\"" }) }
    }
}
