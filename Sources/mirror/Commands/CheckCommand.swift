import ArgumentParser
import MirrorKit
import MirrorModel

/// `mirror check`: validates manifests and touches nothing.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Validate a manifest; touch nothing.",
        discussion: """
            Names every error with its line, its column and what would be right, and warns of \
            digests that prove little.

            EXAMPLES:
              mirror check manifest.json
              mirror check                       every manifest that this root remembers
              mirror check --require-pinned maps.xml && git commit maps.xml
            """)

    @Argument(help: ManifestArguments.help, completion: .file())
    var manifests: [String] = []

    @Flag(name: .long, help: "Refuse a manifest in which a resource has no sha256 or better.")
    var requirePinned = false

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "How a list is read") var lists: ImportOptions
    @OptionGroup(title: "How a manifest's server is talked to") var network: ConnectionOptions
    @OptionGroup(title: "Output") var output: VerdictOptions

    func run() async throws {
        var failure: Int32 = 0
        var reports: [CheckReport] = []
        for (source, hint) in try await sources() {
            let report = try await CheckReport.make(
                source, hint: hint, requirePinned: requirePinned,
                configuration: network.configuration)
            if !output.json { CheckOutput(options: output).show(report) }
            reports.append(report)
            failure = max(failure, report.exitCode)
        }
        if output.json { CheckOutput(options: output).document(reports) }
        if failure != 0 { throw ExitCode(failure) }
    }

    /// The manifests that were given; only without any does the command look for a root.
    private func sources() async throws -> [(ManifestSource, ListHint)] {
        guard manifests.isEmpty else {
            let hint = try lists.hint()
            return try manifests.map { (try ManifestSource(argument: $0), hint) }
        }
        let session = try MirrorSession(root: root.root, configuration: network.configuration)
        try session.requireRoot()
        let hints = try await session.rememberedHints()
        return try await session.rememberedSources().map { ($0, hints[$0] ?? ListHint()) }
    }
}
