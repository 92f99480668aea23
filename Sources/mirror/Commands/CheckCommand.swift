import ArgumentParser
import MirrorKit
import MirrorModel

/// `mirror check`: validates manifests and touches nothing.
struct CheckCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Validate a manifest; touch nothing.",
        discussion: """
            Names every error with its line, its column and what would be right, and warns of \
            digests that prove little. Where the right text is certain, such as a number without its \
            quotes, it is shown, and --fix writes it: in place, atomically, and nothing else in the file \
            changes.

            EXAMPLES:
              mirror check manifest.json
              mirror check                       every manifest that this root remembers
              mirror check --fix manifest.json   correct what is certain, then check
              mirror check --require-pinned maps.xml && git commit maps.xml
            """)

    @Argument(help: ManifestArguments.help, completion: .file())
    var manifests: [String] = []

    @Flag(name: .long, help: "Refuse a manifest in which a resource has no sha256 or better.")
    var requirePinned = false

    @Flag(name: .long, help: "Refuse a list of which an entry cannot be taken.")
    var strict = false

    @Flag(name: .long, help: "Write the corrections that are certain into the manifest's file.")
    var fix = false

    @Flag(name: .long, help: "With --fix: say what would be corrected, and write nothing.")
    var dryRun = false

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "How a list is read") var lists: ImportOptions
    @OptionGroup(title: "How a manifest's server is talked to") var network: ConnectionOptions
    @OptionGroup(title: "Limits") var time: DeadlineOptions
    @OptionGroup(title: "Output") var output: ListOptions

    func validate() throws {
        if dryRun, !fix {
            throw ValidationError("--dry-run goes with --fix; check writes nothing.")
        }
    }

    func run() async throws {
        time.watchDeadline()
        CommandStage.enter(.readingManifests)
        var failure: Int32 = 0
        var reports: [CheckReport] = []
        for (source, hint) in try await sources() {
            let report = try await report(on: source, hint)
            if !output.json { CheckOutput(options: output).show(report) }
            reports.append(report)
            failure = max(failure, report.exitCode)
        }
        if output.json { CheckOutput(options: output).document(reports) }
        if failure != 0 { throw ExitCode(failure) }
    }

    private func report(
        on source: ManifestSource, _ hint: ListHint
    ) async throws -> CheckReport {
        guard fix else {
            return try await CheckReport.make(
                source, hint: hint, requirePinned: requirePinned, strict: strict,
                configuration: network.configuration)
        }
        return try await CheckReport.fix(
            source, isDryRun: dryRun, hint: hint, requirePinned: requirePinned, strict: strict,
            configuration: network.configuration)
    }

    /// The manifests that were given; only without any does the command look for a root.
    private func sources() async throws -> [(ManifestSource, ListHint)] {
        guard manifests.isEmpty else {
            let hint = try lists.hint()
            return try manifests.map { (try ManifestSource(argument: $0), hint) }
        }
        let session = try MirrorSession(root: root.root, configuration: network.configuration)
        try session.requireRoot()
        let hints = try await session.manifests.rememberedHints()
        return try await session.manifests.rememberedSources().map { ($0, hints[$0] ?? ListHint()) }
    }
}
