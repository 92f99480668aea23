import ArgumentParser
import MirrorKit

/// `mirror probe`: shows what servers say about files, without fetching them.
struct ProbeCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "probe",
        abstract: "Ask a server about a file.",
        discussion: """
            Sends a HEAD, and asks for the first byte where the answer says too little; no file is \
            fetched. Exits 1 when a server does not have the file, and 69 when only servers that are \
            away or busy did not answer.

            EXAMPLES:
              mirror probe https://origin.example/world.pmtiles
              mirror probe --json URL URL | jq -r '.probes[] | select(.resumes | not) | .url'
            """)

    @Argument(help: ArgumentHelp("An http or https URL.", valueName: "url")) var urls: [String]

    @OptionGroup(title: "How servers are talked to") var network: ManifestNetworkOptions
    @OptionGroup(title: "Output") var output: ListOptions

    func run() async throws {
        let urls = try urls.map(ProbeCommand.url)
        guard !network.offline else {
            throw MirrorError(.offline, "A probe asks servers, and cannot be offline.")
        }
        CommandStage.enter(.asking)
        var reports = try await ServerProbe.reports(
            on: urls, configuration: network.configuration)
        for at in reports.indices { reports[at].error = reports[at].error?.worded }
        LiveDisplay.shared.end()
        show(reports)
        let errors = reports.compactMap(\.error)
        let healing = errors.count(where: \.isRetryable)
        let code = Summary.exitCode(healing: healing, lasting: errors.count - healing, stale: 0)
        if code != 0 { throw ExitCode(code) }
    }

    /// Reads an argument. Throws `MirrorError` with `usage` if it is no http or https URL.
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

extension ProbeCommand {
    /// Prints the reports to standard output, and the servers' failures to standard error.
    private func show(_ reports: [ProbeReport]) {
        guard !output.json else {
            return Console.output.document { json in
                json.objects("probes", reports) { report, json in report.writeMembers(to: &json) }
            }
        }
        let clock = LocalClock.ofThisProcess(now: .now)
        for (number, report) in reports.enumerated() {
            if let error = report.error {
                Console.error.line("mirror: error: \(error.message.printable)")
                continue
            }
            if number > 0 { Console.output.line("") }
            Console.output.line(report.url.printable)
            for (word, value) in facts(report, clock) {
                let gap = String(repeating: " ", count: max(1, 12 - word.count))
                Console.output.line("  " + word + gap + value.printable)
            }
            Console.output.line("  " + ResumeSafety(report).sentence.printable)
        }
    }

    /// Returns what is known of a file, each fact with its label.
    private func facts(
        _ report: ProbeReport, _ clock: LocalClock
    ) -> [(word: String, value: String)] {
        var facts = report.redirects.map { ("redirected", "to " + $0) }
        let answer = [
            report.status.map { "\($0)" }, report.version.map { "HTTP/" + $0 },
        ]
        facts.append(("answer", answer.compactMap { $0 }.joined(separator: ", ")))
        let size = report.size.map { "\(ByteCount($0)) (\(Counted($0, "byte")))" }
        facts.append(("size", size ?? "not told"))
        facts.append(("type", report.mediaType ?? "not told"))
        if let tag = report.validators.entityTag {
            facts.append(("entity tag", "\(tag), \(strength(of: .entityTag(tag), report))"))
        } else {
            facts.append(("entity tag", report.hasMalformedTag ? "malformed" : "none"))
        }
        if let date = report.validators.lastModified {
            let isOnly = report.validators.entityTag == nil
            let words = isOnly ? ", \(strength(of: .lastModified(date), report))" : ""
            facts.append(("modified", "\(date)\(words)"))
        }
        facts.append(("ranges", report.ranges.rawValue))
        if let coding = report.contentCoding { facts.append(("encoded", coding)) }
        if let name = report.name { facts.append(("name", name)) }
        if let until = report.freshUntil {
            let isFresh = until > report.received
            facts.append(("fresh", isFresh ? "until \(clock.description(of: until))" : "no"))
        }
        return facts
    }

    private func strength(of validator: StrongValidator, _ report: ProbeReport) -> String {
        report.validators.strong == validator ? "strong" : "weak"
    }
}
