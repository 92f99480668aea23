import Glibc
import MirrorTestSupport
import Testing

/// What the pages and the files to copy tell people to type is what the program understands.
@Suite struct ExampleFilesTests {
    /// Files below docs/examples/ that are copied elsewhere.
    static var files: [DocsPage] {
        DocsPage.repository.entries(beneath: "docs/examples").filter { !$0.isFolder }
            .map { DocsPage($0.name) }.filter { !$0.path.hasSuffix(".swift") }
    }

    private static let verifier = "/usr/bin/systemd-analyze"
    private static let python = "/usr/bin/python3"

    @Test func thereAreExamplesOfBothUses() {
        let paths = ExampleFilesTests.files.map(\.path)
        #expect(paths.contains { $0.hasSuffix(".service") })
        #expect(paths.contains { $0.hasSuffix(".yml") })
    }

    @Test(arguments: ExampleFilesTests.files + DocsPage.all)
    func everyOptionIsOneThatTheVerbHas(_ page: DocsPage) throws {
        let verbs = try HelpText.verbs()
        for command in ExampleFilesTests.commands(in: try page.text()) {
            guard let verb = command.words.first else { continue }
            #expect(verbs.contains(verb), "\(page.path): mirror \(verb)")
            guard verbs.contains(verb) else { continue }
            let unknown = Set(command.options).subtracting(try HelpText.options(of: verb))
            #expect(unknown.sorted() == [], "\(page.path): mirror \(verb)")
        }
    }

    /// An option that a page names by itself is one that some verb has.
    @Test(arguments: [
        "README.md", "docs/sync.md", "docs/install.md", "docs/events.md", "docs/exit-codes.md",
    ])
    func everyOptionInCodeTypeExists(_ path: String) throws {
        var known: Set<String> = []
        for verb in try HelpText.verbs() { known.formUnion(try HelpText.options(of: verb)) }
        let words = DocsPage.codeWords(in: try DocsPage(path).text())
        let options = words.filter { $0.hasPrefix("--") }.flatMap { HelpText.options(in: $0) }
        #expect(Set(options).subtracting(known).sorted() == [], "\(path)")
    }

    @Test(
        .enabled(if: BuiltProgram.exists(ExampleFilesTests.python)),
        arguments: ExampleFilesTests.files.filter { $0.path.hasSuffix(".yml") })
    func everyPipelineIsYAML(_ file: DocsPage) throws {
        let program = """
            import sys
            try: import yaml
            except ImportError: sys.exit(0)
            # A component has its inputs in a document of their own.
            assert sum(map(len, yaml.safe_load_all(open(sys.argv[1])))) > 1
            """
        let path = DocsPage.repository.full(file.path)
        let result = try Command.run(ExampleFilesTests.python, ["-c", program, path])
        #expect(result.ending == .exited(0), "\(result.errors)")
    }

    /// systemd-analyze wants the program to be there, so the built one stands in for the installed.
    @Test(
        .enabled(if: BuiltProgram.exists(ExampleFilesTests.verifier)),
        arguments: ["system", "user"])
    func systemdFindsNothingToSay(_ scope: String) throws {
        let folder = try Folder.temporary()
        defer { folder.remove() }
        var paths: [String] = []
        for file in ExampleFilesTests.files where file.path.contains("/\(scope)/") {
            let text = try file.text().split(separator: "/usr/local/bin/mirror")
                .joined(separator: BuiltProgram.path(of: "mirror"))
            let name = file.path.split(separator: "/").last.map(String.init) ?? ""
            try folder.write(name, Array(text.utf8))
            paths.append(folder.full(name))
        }
        #expect(paths.count == 2)
        let result = try Command.run(
            ExampleFilesTests.verifier, ["verify", "--\(scope)", "--man=no"] + paths,
            environment: ["HOME": folder.path, "XDG_RUNTIME_DIR": folder.path])
        #expect(result.ending == .exited(0))
        #expect(result.errors == "")
    }
}

extension ExampleFilesTests {
    /// A call of mirror: what stands after its name, on its line and on those that continue it.
    struct Call {
        var words: [String]
        var options: [String] { words.flatMap { HelpText.options(in: $0) } }
    }

    /// The calls in a text, wherever `mirror` is followed by a word that can be a verb.
    static func commands(in text: String) -> [Call] {
        let joined = text.split(separator: "\\\n").joined(separator: " ")
        return joined.split(separator: "\n").flatMap { line -> [Call] in
            // A pipe, a list or the end of a code span ends a call.
            line.split { "|;&`".contains($0) }.compactMap { piece in
                let words = piece.split(separator: " ").map(String.init)
                let isCommand =
                    line.contains("bin/mirror") || line.hasPrefix("$ ") || line.contains(" --")
                let position = words.indices.dropLast().first { at in
                    let isName =
                        words[at] == "mirror" || words[at].hasSuffix("/bin/mirror")
                        || words[at] == "scripts/mirror"
                    return isName && words[at + 1].allSatisfy(\.isLowercase)
                }
                guard isCommand, let position else { return nil }
                return Call(words: Array(words[(position + 1)...]))
            }
        }
    }
}
