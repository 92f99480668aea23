import ArgumentParser
import MirrorKit

/// `mirror import`: makes a manifest of lists that other programs wrote.
struct ImportCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Make a manifest of a list.",
        discussion: """
            Reads lists of URLs, aria2 input files, SHA256SUMS and the like, registries of pooch, \
            requirements.txt, pylock.toml, uv.lock, poetry.lock, Pipfile.lock, package-lock.json, \
            yarn.lock, pnpm-lock.yaml, composer.lock, Gemfile.lock, Cargo.lock, go.sum, lists of conda, Debian's \
            Packages and Release, APKINDEX, pacman's databases, repomd.xml, S3 listings, BagIt, flatpak-builder, GitHub \
            releases, Hugging Face trees, Metalink 3 and CycloneDX, by their content; gzip, xz and \
            zstd too. What is left out is said. Nothing is fetched but the list. \
            `mirror sync` takes such a list directly.

            EXAMPLES:
              mirror import package-lock.json -o npm.json
              mirror import SHA256SUMS --base https://origin.example/release/ -o release.json
              mirror import --from urls - --name pages < urls.txt | jq .resources
            """)

    @Argument(
        help: ArgumentHelp(
            "A path, an http(s) URL, or - for standard input; several become one manifest.",
            valueName: "source"), completion: .file())
    var sources: [String]

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("Where the manifest goes. Default: standard output.", valueName: "file"),
        completion: .file())
    var destination: String?

    @Option(
        help: ArgumentHelp(
            "The manifest's name. Default: that of the first source's file, without extension.",
            valueName: "name"))
    var name: String?

    @OptionGroup(title: "How the list is read") var list: ImportOptions
    @OptionGroup(title: "How the list's server is talked to") var network: ConnectionOptions
    @OptionGroup(title: "Limits") var time: DeadlineOptions

    @Flag(help: .strictLists) var strict = false

    @OptionGroup(title: "Output") var output: ListOptions

    func validate() throws {
        if output.json, destination ?? "-" == "-" {
            throw ValidationError(
                "--json goes with --output FILE; standard output has one document only.")
        }
        if sources.count(where: { $0 == "-" }) > 1 {
            throw ValidationError("Standard input can be read once only.")
        }
    }

    func run() async throws {
        time.watchDeadline()
        CommandStage.enter(.readingManifests)
        var lists: [DecodedManifest] = []
        for source in try sources.map({ try ManifestSource(argument: $0) }) {
            lists.append(try await read(source))
        }
        guard let first = lists.first else { return }
        let manifest = try Manifest.joined(name: name ?? first.manifest.owner, lists)
        try await write(manifest, of: lists)
    }

    private func read(_ source: ManifestSource) async throws -> DecodedManifest {
        let isUnnamed = source == .standardInput && name == nil
        let hint = try list.hint(name: isUnnamed ? list.from?.rawValue ?? "list" : name)
        let decoded = try await source.read(configuration: network.configuration, hint: hint)
        guard decoded.list != nil else {
            throw MirrorError(
                .usage,
                "\(source.label.printable): this is a manifest already. `mirror convert` writes it in another notation."
            )
        }
        if strict { try ManifestError.refuseGaps(in: [decoded.manifest]) }
        if !output.quiet {
            decoded.manifest.showLeftOut()
            if decoded.pages > 1 {
                Console.error.line(
                    "mirror: note: \(source.label.printable): the list came in \(decoded.pages) pages."
                )
            }
            for warning in decoded.warnings { Console.error.line(warning.printed) }
            if decoded.omittedWarnings > 0 {
                Console.error.line("and \(decoded.omittedWarnings) more")
            }
        }
        return decoded
    }

    private func write(_ manifest: Manifest, of lists: [DecodedManifest]) async throws {
        guard let destination, destination != "-" else {
            try ManifestWriter(.json, label: "<stdout>").write(manifest) {
                Console.output.write(bytes: $0)
            }
            return
        }
        let notation = DecodedManifest.Notation(fileName: destination) ?? .json
        let writer = ManifestWriter(notation, label: destination)
        try await ManifestFile(path: destination).write(manifest, with: writer)
        let resources = manifest.resources
        let pinned = resources.count { $0.pin != nil }
        if output.json { return show(lists, in: destination, resources.count, pinned: pinned) }
        guard !output.quiet else { return }
        Console.output.line(
            "\(destination.printable): \(Counted(resources.count, "resource")), \(pinned) pinned.")
    }

    /// Prints the result as a document.
    private func show(
        _ lists: [DecodedManifest], in destination: String, _ resources: Int, pinned: Int
    ) {
        Console.output.document { json in
            json.member("manifest", destination)
            json.member("resources", resources)
            json.member("pinned", pinned)
            json.objects("lists", lists) { list, json in
                json.member("list", list.manifest.label)
                json.member("format", list.list?.rawValue)
                json.member("pages", list.pages)
                json.array("leftOut", list.leftOut) { entry, json in entry.write(to: &json) }
            }
        }
    }
}
