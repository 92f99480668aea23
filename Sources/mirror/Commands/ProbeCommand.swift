import ArgumentParser
import MirrorKit
import MirrorModel

/// `mirror probe`: says what servers tell about files, without fetching them.
struct ProbeCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "probe",
        abstract: "Say what a server tells about a file, and whether its download can be resumed.",
        discussion: """
            Sends a HEAD, and asks for the first byte where the answer says too little; no file is \
            fetched. Exits 1 when a server does not have the file, and 69 when only servers that are \
            away or busy did not answer.

            EXAMPLES:
              mirror probe https://origin.example/world.pmtiles
              mirror probe --json URL URL | jq -r '.probes[] | select(.resumes | not) | .url'
            """)

    @Argument(help: ArgumentHelp("An http or https URL.", valueName: "url"))
    var urls: [String]

    @OptionGroup(title: "How servers are talked to") var network: ManifestNetworkOptions
    @OptionGroup(title: "Output") var output: ListOptions

    func run() async throws {
        let urls = try urls.map(ProbeCommand.url)
        guard !network.offline else {
            throw MirrorError(.offline, "A probe asks servers, and cannot be offline.")
        }
        CommandStage.enter(.asking)
        let reports = try await ServerProbe.reports(
            on: urls, configuration: network.configuration)
        LiveDisplay.shared.end()
        ProbeOutput(options: output).show(reports)
        if Console.output.writeError != nil { throw ExitCode(74) }
        let errors = reports.compactMap(\.error)
        let healing = errors.count(where: \.isRetryable)
        let code = ExitVerdict.code(healing: healing, lasting: errors.count - healing, stale: 0)
        if code != 0 { throw ExitCode(code) }
    }

    /// Reads an argument; throws `MirrorError` with `usage`.
    static func url(_ text: String) throws -> SourceURL {
        let url: SourceURL
        do { url = try SourceURL(text) } catch {
            throw MirrorError(.usage, "\(error). Write http://… or https://….")
        }
        guard url.scheme != .file else {
            throw MirrorError(.usage, "\(url): no server has it. Write http://… or https://….")
        }
        return url
    }
}
