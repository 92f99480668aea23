import Glibc
import MirrorTestSupport
import Testing

/// What shells suggest, asked of the shells themselves.
@Suite(.timeLimit(.minutes(15))) struct ShellCompletionTests {
    /// A line up to the cursor, and what must and must not be among the suggestions.
    struct Case: Sendable, CustomStringConvertible {
        let line: String
        let has: [String]
        var lacks: [String] = []
        /// Whether the suggestions depend on no root and no manifest.
        var isFixed = false

        var description: String { line }
    }

    static let cases = [
        Case(line: "mirror sy", has: ["sync"], lacks: ["status"], isFixed: true),
        Case(line: "mirror sync --stall", has: ["--stall-timeout"], isFixed: true),
        Case(line: "mirror sync --root root --only b", has: ["base"], lacks: ["maps"]),
        Case(line: "mirror sync list.json --skip t", has: ["tiles"], lacks: ["base"]),
        Case(
            line: "mirror why --root root Documents/r",
            has: ["Documents/readme.txt", "Documents/rules.txt"],
            lacks: ["Documents/map.bin", "Documents/two words.txt"]),
        Case(line: "mirror remove list.json Caches/", has: ["Caches/tile.bin"]),
        Case(line: "mirror sync list.json --only ", has: ["tiles"]),
        Case(line: "mirror forget --root root f", has: ["field"]),
        Case(line: "mirror settings set limit", has: ["limit-rate"], lacks: ["root"]),
        Case(
            line: "mirror import --from debian", has: ["debian-packages", "debian-release"],
            isFixed: true),
        Case(line: "mirror convert li", has: ["list.json"]),
        // A root that is none: the line goes on without suggestions, and without a complaint.
        Case(line: "mirror why --root nowhere Documents/", has: [], lacks: ["Documents/rules.txt"]),
    ]

    /// A folder with a synced root, a manifest that nothing has read yet, and the program on PATH.
    private static func withFolder(_ body: (Folder, [String: String]) throws -> Void) throws {
        let folder = try Folder.temporary()
        defer { folder.remove() }
        try folder.makeFolders(above: "programs/.")
        try #require(
            symlink(BuiltProgram.path(of: "mirror"), folder.full("programs/mirror")) == 0)
        for name in ["map.bin", "readme.txt", "rules.txt", "two words.txt"] {
            try folder.write(name, Array(name.utf8))
        }
        try folder.write(
            "field.json",
            Array(
                #"""
                { "name": "field", "resources": [
                  { "path": "Documents/map.bin", "url": "map.bin", "tags": ["maps"] },
                  { "path": "Documents/readme.txt", "url": "readme.txt", "tags": ["base"] },
                  { "path": "Documents/two words.txt", "url": "two%20words.txt" },
                  { "path": "Documents/rules.txt", "url": "rules.txt", "tags": ["base"] } ] }
                """#.utf8))
        try folder.write(
            "list.json",
            Array(
                #"""
                { "name": "list", "resources": [
                  { "path": "Caches/tile.bin", "url": "map.bin", "tags": ["tiles"] },
                  { "path": "Caches/x$(touch${IFS}pwned)", "url": "map.bin", "tags": ["`touch${IFS}pwned`"] } ] }
                """#.utf8))
        let synced = try Command(
            BuiltProgram.path(of: "mirror"), ["sync", "--root", "root", "field.json"],
            folder: folder.path
        ).wait()
        try #require(synced.ending == .exited(0), "\(synced)")
        for shell in ["bash", "fish", "zsh"] {
            let script = try Command.run(
                BuiltProgram.path(of: "mirror"), ["--generate-completion-script", shell])
            try folder.write(
                shell == "zsh" ? "_mirror" : "mirror.\(shell)", Array(script.output.utf8))
        }
        let programs = folder.full("programs")
        try body(folder, ["PATH": "\(programs):/usr/bin:/bin", "HOME": folder.path])
    }

    private static func check(_ `case`: Case, _ result: Command.Result) {
        // fish adds descriptions after a tab.
        let words = result.output.split(separator: "\n").map {
            String($0.prefix { $0 != "\t" }).trimmingSpaces
        }
        for word in `case`.has { #expect(words.contains(word), "\(`case`): \(result)") }
        for word in `case`.lacks { #expect(!words.contains(word), "\(`case`): \(result)") }
        #expect(result.errors.isEmpty, "\(`case`): \(result)")
    }

    @Test func bashSuggestsVerbsOptionsManifestsTargetsAndTags() async throws {
        try await DetachedThread.run {
            try Self.withFolder { folder, environment in
                for `case` in Self.cases {
                    let script = """
                        . ./mirror.bash
                        COMP_LINE=$1; COMP_POINT=${#COMP_LINE}
                        IFS=' ' read -ra COMP_WORDS <<< "$COMP_LINE"
                        case $COMP_LINE in *' ') COMP_WORDS+=('') ;; esac
                        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
                        _mirror mirror "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
                        printf '%s\\n' "${COMPREPLY[@]}"
                        """
                    Self.check(
                        `case`,
                        try Command(
                            "/bin/bash", ["-c", script, "bash", `case`.line],
                            environment: environment, folder: folder.path
                        ).wait())
                }
                // What a manifest says is suggested, and never carried out.
                #expect(!folder.entries().map(\.name).contains("pwned"))
            }
        }
    }

    /// Without a terminal fish cannot say what the line is, so the words that take a look at the root are
    /// tried in bash alone; they come from the same program.
    @Test(.enabled(if: BuiltProgram.exists("/usr/bin/fish")))
    func fishSuggestsVerbsOptionsAndFormats() async throws {
        try await DetachedThread.run {
            try Self.withFolder { folder, environment in
                for `case` in Self.cases where `case`.isFixed {
                    let script = "source mirror.fish; complete -C $argv[1]"
                    Self.check(
                        `case`,
                        try Command(
                            "/usr/bin/fish", ["--no-config", "-c", script, `case`.line],
                            environment: environment, folder: folder.path
                        ).wait())
                }
            }
        }
    }

    @Test(.enabled(if: BuiltProgram.exists("/usr/bin/zsh")))
    func zshReadsItsCompletions() async throws {
        try await DetachedThread.run {
            try Self.withFolder { folder, environment in
                let script = """
                    zsh -n _mirror
                    fpath=($PWD $fpath); autoload -Uz compinit && compinit -u -D
                    print -r -- ${_comps[mirror]}
                    """
                let result = try Command(
                    "/usr/bin/zsh", ["-f", "-c", script], environment: environment,
                    folder: folder.path
                ).wait()
                #expect(result.output == "_mirror\n", "\(result)")
                #expect(result.errors.isEmpty, "\(result)")
            }
        }
    }
}

extension String {
    fileprivate var trimmingSpaces: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
