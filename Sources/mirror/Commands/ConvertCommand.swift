import ArgumentParser
import MirrorKit

/// `mirror convert`: writes a manifest in another notation.
struct ConvertCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "convert",
        abstract: "Write JSON, XML or Metalink 4.",
        discussion: """
            What OUT says is what IN says: read again, it is the same manifest. Defaults are merged \
            into the resources, URLs become absolute (file: URLs beneath OUT's folder stay \
            relative to it), comments and x- notes are not kept. What a notation cannot say is an \
            error, and nothing is written; Metalink has no name, method, body, headers, refresh, \
            type, priority, executable, optional, urgent and no tags. An existing OUT is replaced \
            atomically.

            EXAMPLES:
              mirror convert manifest.json manifest.xml
              mirror convert https://origin.example/release.meta4 - --to json
              mirror convert --lossy manifest.json release.meta4   leave out what Metalink lacks
            """)

    @Argument(
        help: ArgumentHelp("A path, an http(s) URL, or - for standard input.", valueName: "in"),
        completion: .file())
    var input: String

    @Argument(
        help: ArgumentHelp("A path, or - for standard output.", valueName: "out"),
        completion: .file())
    var destination: String

    @Option(
        help: ArgumentHelp(
            "json, xml or metalink. Default: what OUT's extension says (.json .xml .meta4 .metalink).",
            valueName: "notation"))
    var to: DecodedManifest.Notation?

    @Flag(help: "Leave out what the notation cannot say, with a warning for each.")
    var lossy = false

    @OptionGroup(title: "How a manifest's server is talked to") var network: ConnectionOptions

    @Flag(name: .shortAndLong, help: .quiet) var quiet = false

    func validate() throws {
        if notation == nil {
            throw ValidationError(
                "The notation of \(destination.printable) is not known from its name. Add --to json, --to xml or --to metalink."
            )
        }
    }

    var output: FewChoices { FewChoices(quiet: quiet) }

    func run() async throws {
        CommandStage.enter(.readingManifests)
        guard let notation else { return }
        let source = try ManifestSource(argument: input)
        let decoded = try await source.read(configuration: network.configuration)
        var writer = ManifestWriter(notation, label: source.label)
        writer.isLossy = lossy
        let losses = try writer.check(decoded.manifest)
        if !quiet {
            for warning in decoded.warnings + losses { Console.error.line(warning.printed) }
        }
        if destination == "-" {
            try writer.write(decoded.manifest) { Console.output.write(bytes: $0) }
            return
        }
        try await ManifestFile(path: destination).write(decoded.manifest, with: writer)
        if !quiet {
            let count = decoded.manifest.resources.count
            Console.output.line(
                "\(destination.printable): \(notation.rawValue), \(Counted(count, "resource"))."
            )
        }
    }

    private var notation: DecodedManifest.Notation? {
        to ?? (destination == "-" ? nil : DecodedManifest.Notation(fileName: destination))
    }
}
