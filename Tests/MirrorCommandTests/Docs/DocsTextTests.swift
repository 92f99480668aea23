import MirrorTestSupport
import Testing

/// The pages as texts: lines that fit a screen, and names that the code still has.
@Suite struct DocsTextTests {
    /// Pages of the repository that people read.
    static let pages =
        DocsPage.all
        + ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "Tests/Mutants/README.md"]
        .map(DocsPage.init)

    /// Output of a program is quoted as it is, however long its lines.
    @Test(arguments: pages) func linesHaveAtMost120Characters(_ page: DocsPage) throws {
        for (number, line) in try page.prose() where line.unicodeScalars.count > 120 {
            Issue.record("\(page.path):\(number) has \(line.unicodeScalars.count) characters")
        }
    }

    @Test(arguments: pages) func namedSourceFilesExist(_ page: DocsPage) throws {
        let files = DocsPage.sourceFiles
        for word in DocsPage.codeWords(in: try page.text()) where word.hasSuffix(".swift") {
            guard !word.contains(where: { "*…".contains($0) }) else { continue }
            let isThere = files.contains { $0 == word || $0.hasSuffix("/" + word) }
            #expect(isThere, "\(page.path) names \(word)")
        }
    }

    /// A word in code type that looks like a type of ours is declared in the sources or the tests.
    @Test(arguments: ["docs/design.md", "docs/library.md", "CONTRIBUTING.md"].map(DocsPage.init))
    func namedTypesExist(_ page: DocsPage) throws {
        let declared = try Self.declaredNames()
        for word in DocsPage.codeWords(in: try page.text()) where Self.looksLikeType(word) {
            #expect(declared.contains(word), "\(page.path) names \(word)")
        }
    }

    /// `Type.member` is declared in a file that declares or extends the type.
    @Test(arguments: ["docs/design.md", "CONTRIBUTING.md"].map(DocsPage.init))
    func namedMembersExist(_ page: DocsPage) throws {
        for word in DocsPage.codeWords(in: try page.text()) {
            let parts = word.split(separator: ".").map(String.init)
            guard parts.count == 2, parts[1] != "swift", parts[0].first?.isUppercase == true,
                parts[1].first?.isLowercase == true
            else { continue }
            let files = try DocsPage.sourceFiles.filter { path in
                let text = try DocsPage(path).text()
                return ["struct", "class", "enum", "actor", "protocol", "extension"].contains {
                    text.contains("\($0) \(parts[0])")
                }
            }
            // A name such as Cargo.lock is a file's.
            guard !files.isEmpty || Self.looksLikeType(parts[0]) else { continue }
            let isDeclared = try files.contains { path in
                let words = try DocsPage(path).text()
                    .split { !$0.isLetter && !$0.isNumber && $0 != "_" }
                return zip(words, words.dropFirst()).contains { keyword, name in
                    name == parts[1] && ["func", "var", "let", "case"].contains(keyword)
                }
            }
            #expect(isDeclared, "\(page.path) names \(word)")
        }
    }

    /// A folder in code type, such as `mirror/Options/`, is below Sources/ or the repository.
    @Test(arguments: ["docs/design.md", "CONTRIBUTING.md"].map(DocsPage.init))
    func namedFoldersExist(_ page: DocsPage) throws {
        let roots = ["Sources", "Tests", "docs"]
        let folders = Set(
            roots
                + roots.flatMap { folder in
                    DocsPage.repository.entries(beneath: folder).filter(\.isFolder).map(\.name)
                })
        for word in DocsPage.codeWords(in: try page.text())
        where word.hasSuffix("/") && word.first?.isLetter == true {
            let name = String(word.dropLast())
            let isThere = folders.contains { $0 == name || $0.hasSuffix("/" + name) }
            let isOfATree = ["tmp", "Caches", "Documents"].contains(name)
            #expect(isThere || isOfATree, "\(page.path) names \(word)")
        }
    }

    private static func looksLikeType(_ word: String) -> Bool {
        guard let first = word.first, first.isUppercase, word.count > 3 else { return false }
        let isCamel = word.dropFirst().contains(where: \.isLowercase)
        return isCamel && word.allSatisfy { $0.isLetter || $0.isNumber }
            && word.dropFirst().contains(where: \.isUppercase)
    }

    /// Types, cases and members that the sources and tests declare, and modules.
    private static func declaredNames() throws -> Set<String> {
        var names: Set<String> = []
        for path in DocsPage.sourceFiles {
            let words = try DocsPage(path).text()
                .split { !$0.isLetter && !$0.isNumber && $0 != "_" }
            for (keyword, name) in zip(words, words.dropFirst())
            where ["struct", "class", "enum", "actor", "protocol", "import"].contains(keyword) {
                names.insert(String(name))
            }
        }
        return names
    }
}

extension DocsPage {
    /// Swift files of the sources, the tests and the examples.
    static let sourceFiles = ["Sources", "Tests", "docs"].flatMap { folder in
        repository.entries(beneath: folder).map(\.name).filter { $0.hasSuffix(".swift") }
    }

    /// The lines outside of code blocks, with their numbers.
    func prose() throws -> [(number: Int, line: Substring)] {
        var isCode = false
        let lines = try text().split(separator: "\n", omittingEmptySubsequences: false)
        return lines.enumerated().compactMap { number, line in
            if line.drop(while: { $0 == " " }).hasPrefix("```") {
                isCode.toggle()
                return nil
            }
            return isCode ? nil : (number + 1, line)
        }
    }
}
