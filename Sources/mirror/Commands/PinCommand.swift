import ArgumentParser
import MirrorKit

/// `mirror pin`: writes sizes and digests of the fetched files into a manifest.
struct PinCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Write digests into a manifest.",
        discussion: """
            Reads the files that the manifest's resources became, and adds size and sha256 beside the \
            url of each one that does not declare them. The rest of the text stays as it is: order, \
            form, notes. What was not fetched, or was changed since, is left as it is. When a \
            declared size or digest is not what is there, nothing is written, exit 1. A pinned resource that \
            does not say otherwise is not asked for again: leave out with --skip what is meant to change.

            --update fetches what the sources have now, whatever is declared, and declares that. --check \
            writes nothing, and exits 1 where a resource does not declare its size and a digest, or \
            its file has others.

            EXAMPLES:
              mirror sync manifest.json && mirror pin manifest.json
              mirror pin --dry-run manifest.json
              mirror pin --skip live manifest.xml && git diff manifest.xml
              mirror pin --update --only toolchain manifest.json
              mirror pin --check manifest.json
            """)

    @Argument(
        help: ArgumentHelp(
            "The path of a manifest in JSON, XML or Metalink.", valueName: "manifest"),
        completion: .file())
    var manifest: String

    @Flag(help: "Fetch what the sources have now, and declare that instead.") var update = false

    @Flag(help: "Write nothing; exit 1 unless everything is declared, and is so.") var check = false

    @Flag(help: "Say what would be written, and write nothing.") var dryRun = false

    @Option(help: .only) var only: [String] = []

    @Option(help: .skip) var skip: [String] = []

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "How servers are talked to, with --update") var network: NetworkOptions
    @OptionGroup(title: "Limits of --update") var running: RunningOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    func validate() throws {
        if update, check { throw ValidationError("--check writes nothing. Leave out --update.") }
        if update, dryRun {
            throw ValidationError("--update fetches, and what comes is not known before.")
        }
    }

    func run() async throws {
        guard case .path(let path) = try ManifestSource(argument: manifest) else {
            throw MirrorError(
                .usage, "mirror pin writes into a file. Name the path of a manifest.")
        }
        if update { return try await refetch(path) }
        let session = try MirrorSession(root: root.root)
        if !check { try session.requireRoot() }
        CommandStage.enter(.reading)
        let report = try await ManifestFile(path: path)
            .pin(from: session, options: options, isDryRun: dryRun || check)
        try conclude(report)
    }

    private var options: PlanOptions {
        var options = PlanOptions()
        options.only = Set(only)
        options.skip = Set(skip)
        options.refusesUnknownNames = true
        return options
    }

    private func conclude(_ report: PinReport) throws {
        report.show(output, isCheck: check)
        let isWrong = !report.contradictions.isEmpty || check && !report.undeclared.isEmpty
        if isWrong { throw ExitCode(1) }
    }

    /// Fetches what the sources have now, and writes its sizes and digests into the manifest.
    private func refetch(_ path: String) async throws {
        var work = FetchWork(
            verb: "pin", root: root, network: network, running: running, output: output)
        work.makesRoot = false
        try await work.run([path]) { session, manifests, shown in
            try await work.fetch(manifests.map(\.withoutPins), options, in: session, shown)
            LiveDisplay.shared.resume()
            CommandStage.enter(.reading)
            try conclude(
                try await ManifestFile(path: path)
                    .pin(from: session, options: options, updates: true))
        }
    }
}

extension PinReport {
    /// Prints a JSON document for scripts, or a line for each resource for people.
    ///
    /// Contradictions go to standard error.
    ///
    /// - Parameter isCheck: whether to report also resources that declare no size, or no digest
    ///   that proves their bytes.
    func show(_ options: any OutputChoices, isCheck: Bool = false) {
        for finding in contradictions {
            guard case .contradiction(let because) = finding.outcome else { continue }
            Console.error.line(
                "\(manifest.printable):\(finding.line): error: \(finding.target.path.printable): \(because)"
            )
        }
        if isCheck {
            for finding in undeclared {
                Console.error.line(
                    "\(manifest.printable):\(finding.line): error: \(finding.target.path.printable): it declares no size, or no digest that proves its bytes"
                )
            }
        }
        guard !options.json else {
            return Console.output.json { write(to: &$0) }
        }
        let style = TextStyle(isColored: options.usesColor(on: .output))
        guard !options.quiet else { return }
        var lines = LineBuffer()
        lines.line("root \(root.printable)")
        for finding in findings where !isCheck {
            if let line = line(finding, style, isVerbose: options.verbose) { lines.line(line) }
        }
        lines.line(result(isCheck: isCheck))
        lines.flush()
    }

    private func line(_ finding: PinFinding, _ style: TextStyle, isVerbose: Bool) -> String? {
        let path = finding.target.path.printable
        switch finding.outcome {
        case .pin:
            let size = finding.size.map { "  \(ByteCount($0))" } ?? ""
            let digest = finding.sha256.map { "sha256 \($0.hex)" } ?? ""
            return style.label("pin", .good) + path + size + style.faint("  (\(digest))")
        case .update:
            let digest = finding.sha256.map { "sha256 \($0.hex) now" } ?? ""
            return style.label("update", .good) + path + style.faint("  (\(digest))")
        case .keep: return isVerbose ? style.label("keep", .neutral) + path : nil
        case .leave(let obstacle):
            return style.label("leave", .warning) + path + style.faint("  (\(obstacle.because))")
        case .contradiction: return nil
        }
    }

    private func result(isCheck: Bool) -> String {
        let manifest = manifest.printable
        if isCheck {
            let count = findings.count
            let wrong = Set(undeclared.map(\.target))
                .union(contradictions.map(\.target)).count
            return "\(manifest): \(count - wrong) of \(Counted(count, "resource")) pinned."
        }
        guard contradictions.isEmpty else {
            return "\(manifest): nothing was written. Run mirror sync, or correct the manifest."
        }
        let count = pinned.count
        var text = "\(manifest): \(Counted(count, "resource"))"
        text += isDryRun ? " would be pinned" : " pinned"
        if !left.isEmpty {
            text +=
                ", \(left.count) left as \(Counted.verb(left.count, "it is", "they are"))"
        }
        return text + "."
    }
}
