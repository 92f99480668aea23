import MirrorTestSupport
import Synchronization
import Testing

/// What the built program says about itself.
enum HelpText {
    /// The helps that were asked for: a start of the program for each mention of a verb is too many.
    private static let known = Mutex<[[String]: String]>([:])

    /// The help of the program, or of a verb.
    static func of(_ words: [String]) throws -> String {
        if let help = known.withLock({ $0[words] }) { return help }
        let result = try Command.run(
            BuiltProgram.path(of: "mirror"), words + ["--help"], environment: ["COLUMNS": "80"])
        #expect(result.ending == .exited(0))
        known.withLock { $0[words] = result.output }
        return result.output
    }

    /// The verbs that the program's help lists.
    static func verbs() throws -> [String] {
        let lines = try of([]).split(separator: "\n", omittingEmptySubsequences: false)
        var isOfGroup = false
        return lines.compactMap { line in
            if !line.hasPrefix(" ") { isOfGroup = line.hasSuffix(" SUBCOMMANDS:") }
            guard isOfGroup, line.hasPrefix("  "), !line.hasPrefix("   ") else { return nil }
            return line.split(separator: " ").first.map(String.init)
        }
    }

    /// The long options that a verb's help names.
    static func options(of verb: String) throws -> Set<String> {
        Set(options(in: try of([verb])))
    }

    /// Everything in a text that is written like a long option.
    static func options(in text: some StringProtocol) -> [String] {
        text.split { " \t\n,;|()[]`'\"=/".contains($0) }.compactMap { word in
            let name = word.prefix { $0 == "-" || $0.isLetter || $0.isNumber }
            return name.hasPrefix("--") && name.count > 2 ? String(name) : nil
        }
    }
}

/// The program's help groups its verbs, and each has a short line.
@Suite struct VerbListTests {
    @Test func everyVerbHasOneShortLine() throws {
        let verbs = try HelpText.verbs()
        #expect(verbs.count == 29)
        #expect(Set(verbs).count == verbs.count)
        let lines = try HelpText.of([]).split(separator: "\n")
        for verb in verbs {
            let line = lines.first { $0.hasPrefix("  \(verb) ") }
            #expect((line?.count ?? 60) < 60, "\(line ?? "")")
        }
    }
}

/// Every verb's help shows how it is used, with options that it has.
@Suite struct HelpTests {
    /// A verb reads its words without the program's other verbs, but its help is of the whole program.
    @Test func helpNamesAVerbAsItIsCalled() throws {
        let verbs =
            try HelpText.verbs().map { [$0] } + [["schedule", "add"], ["settings", "set"]]
        for words in verbs {
            let usage = try HelpText.of(words).split(separator: "\n").first {
                $0.hasPrefix("USAGE:")
            }
            let call = "USAGE: mirror " + words.joined(separator: " ")
            #expect(usage?.hasPrefix(call) == true, "\(words): \(usage ?? "no usage")")
        }
    }

    /// Only the program itself has the verb `help`, and it alone has a version.
    @Test func whatIsTheProgramsIsNoVerbs() throws {
        let program = BuiltProgram.path(of: "mirror")
        for words in [["schedule", "help"], ["settings", "help"], ["manifests", "help"]] {
            #expect(try Command.run(program, words).ending == .exited(64), "\(words)")
        }
        let versions = try [["--version"], ["sync", "--version"]].map {
            try Command.run(program, $0).output
        }
        #expect(versions[0] == versions[1])
    }

    @Test func everyVerbHasAnExampleThatItUnderstands() throws {
        let verbs = try HelpText.verbs()
        for verb in verbs {
            let help = try HelpText.of([verb])
            let sections = help.split(separator: "EXAMPLES:")
            #expect(sections.count == 2, "mirror \(verb) --help has no EXAMPLES")
            let examples = sections.last?.split(separator: "\n\n").first ?? ""
            #expect(examples.contains("mirror \(verb)"), "no example of mirror \(verb)")
            let used = examples.split(separator: "\n").filter { $0.contains("mirror \(verb)") }
                .flatMap { HelpText.options(in: $0) }
            let known = try HelpText.options(of: verb)
            #expect(Set(used).subtracting(known).sorted() == [], "in the examples of \(verb)")
        }
    }
}
