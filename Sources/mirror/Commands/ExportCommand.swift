import ArgumentParser
import MirrorKit

/// `mirror export`: writes the files that manifests want in forms that other programs read.
struct ExportCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write what other programs read.",
        discussion: """
            aria2, sums and metalink are lists of all files that the manifests want, with what the \
            manifests and the tree know of them; npm-cache is a script that adds packages to npm's \
            cache. wheelhouse, bazel-distdir and bagit are folders with copies of files, verified, \
            which appear whole or not at all. A folder that is there is replaced only if the tree \
            has all its files. store is a folder or a disk for `mirror sync --store`: it gets the \
            files that it lacks, by their sha256, and the manifests. Nothing is fetched.

            EXAMPLES:
              mirror export --as sums -o Documents.sha256
              mirror export --as wheelhouse -o wheels uv.lock
              mirror export --as npm-cache package-lock.json | sh
              mirror export --as store -o disk
            """)

    @Argument(help: ManifestArguments.help, completion: .file()) var manifests: [String] = []

    @Option(
        name: [.customLong("as")],
        help: ArgumentHelp(
            "aria2, sums, metalink, wheelhouse, npm-cache, bazel-distdir, bagit or store.",
            valueName: "format"))
    var format: ExportFormat

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp(
            "Where it goes. Folders need it; the default of the others is standard output.",
            valueName: "path"), completion: .file())
    var destination: String?

    @Option(help: .only, completion: .tags) var only: [String] = []

    @Option(help: .skip, completion: .tags) var skip: [String] = []

    @Option(help: .platform) var platform: String?

    @Option(help: .python) var python: String?

    @Flag(
        help: "Leave out files that are not there or that the format has no words for, with notes.")
    var lossy = false

    @Option(
        help: ArgumentHelp(
            "With --as store: leave out the files whose sha256 this file lists, as `mirror status --have` prints them.",
            valueName: "file"), completion: .file())
    var except: String?

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "How a list is read") var lists: ImportOptions
    @OptionGroup(title: "How a manifest's server is talked to")
    var network: ManifestNetworkOptions
    @OptionGroup(title: "Output") var output: ResultOptions

    func validate() throws {
        if path == nil, format.isFolder {
            throw ValidationError("\(format.rawValue) is a folder. Say where with -o DIR.")
        }
        if except != nil, format != .store {
            throw ValidationError("--except goes with --as store.")
        }
        if path == nil, output.json {
            throw ValidationError("--json reports on standard output. Name a file with -o FILE.")
        }
    }

    /// The path to which the export goes. `nil` means standard output.
    private var path: String? { destination == "-" ? nil : destination }

    /// Without progress for an export to standard output, because it needs the terminal for itself.
    var choices: any OutputChoices { path == nil ? FewChoices(json: true) : output }

    func run() async throws {
        let session = try root.session(network.configuration)
        let selection = Selection(
            only: Set(only), skip: Set(skip),
            wheels: try WheelTarget(platform: platform, python: python))
        var arguments = ManifestArguments(
            locations: manifests, isOffline: network.offline, lists: lists)
        arguments.choose(selection)
        let manifests = try await arguments.load(in: session)
        var options = PlanOptions()
        options.narrow(to: arguments.narrowing)
        options.refusesUnknownNames = true
        CommandStage.enter(.writing)
        let list = try except.map {
            (text: try ReplacedFile.text(at: $0, longest: 1 << 30), file: $0)
        }
        let export = try Export(
            of: manifests, as: format, options: options, leavesOut: lossy, except: list)
        let report = try await export.write(
            to: path.map { .path($0) } ?? .sink { Console.output.write(bytes: $0) }, from: session)
        if path == nil, Console.output.writeError != nil { throw ExitCode(74) }
        LiveDisplay.shared.end()
        show(report)
    }
}

extension ExportCommand {
    private func show(_ report: ExportReport) {
        if output.json { return Console.output.write(bytes: report.json) }
        guard !output.quiet else { return }
        for omission in report.omissions {
            Console.error.line("mirror: note: left out: \(omission.sentence)")
        }
        guard let place = report.output else { return }
        var words =
            "\(place.printable): \(report.format.title), \(Counted(report.files, "file"))"
        if report.bytes > 0 { words += ", \(ByteCount(report.bytes))" }
        if report.alreadyThere > 0 { words += "; \(report.alreadyThere) were there" }
        if report.excepted > 0 { words += "; \(report.excepted) left out as listed" }
        if report.passed > 0 { words += "; \(report.passed) of other kinds passed over" }
        Console.output.line(words + ".")
    }
}
