import ArgumentParser
import MirrorKit

/// `mirror add`: writes entries into a manifest.
struct AddCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Write URLs into a manifest.",
        discussion: """
            Adds an entry for each URL behind the others; order, form and notes of the rest stay as they \
            are. A file is named after its URL; where the URL ends in no name, the server is asked. Without a \
            manifest, manifest.json in the current folder is meant, and is made where there is none.

            EXAMPLES:
              mirror add https://origin.example/world.pmtiles
              mirror add maps.json URL URL --to Caches/maps/ --pin
              mirror add maps.json https://api.example/feed --as Caches/feed.json --sync
            """)

    @Argument(
        help: ArgumentHelp(
            "The path of a manifest in JSON or XML, unless the first one is a URL, and URLs.",
            valueName: "manifest|url"), completion: .file())
    var words: [String]

    @Option(help: ArgumentHelp("The folder of the new files.", valueName: "folder"))
    var to = "Caches/"

    @Option(help: ArgumentHelp("The target of the one new file.", valueName: "target"))
    var `as`: Target?

    @Flag(help: "Fetch the new files, and declare their sizes and digests.") var pin = false

    @Flag(help: "Fetch the new files.") var sync = false

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "How servers are talked to") var network: NetworkOptions
    @OptionGroup(title: "Limits") var running: RunningOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    func validate() throws {
        if `as` != nil, urls.count > 1 { throw ValidationError("--as names one file only.") }
        if urls.isEmpty { throw ValidationError("Name at least one URL.") }
    }

    /// The manifest's path.
    private var path: String {
        words.first.map(NewEntry.isURL) == true ? "manifest.json" : words[0]
    }
    /// The URLs.
    private var urls: ArraySlice<String> {
        words.first.map(NewEntry.isURL) == true ? words[...] : words.dropFirst()
    }

    func run() async throws {
        let file = ManifestFile(path: path)
        let isNew = !file.exists
        let entries = try await NewEntry.entries(
            for: try urls.map { try NewEntry.url($0) }, in: to, as: `as`, network.configuration)
        try await file.add(entries)
        show(entries, isNew: isNew)
        if Console.output.writeError != nil { throw ExitCode(74) }
        if sync || pin { try await fetch(Set(entries.map(\.target))) }
    }

    /// Fetches the new files, and pins them if the options ask for this.
    private func fetch(_ targets: Set<Target>) async throws {
        let work = FetchWork(
            verb: "add", root: root, network: network, running: running, output: output)
        var options = PlanOptions()
        options.asked = targets
        try await work.run([path]) { [options] session, manifests, shown in
            try await work.fetch(manifests, options, in: session, shown)
            guard pin else { return }
            let report = try await ManifestFile(path: path).pin(
                from: session, options: options)
            report.show(output)
            if !report.contradictions.isEmpty { throw ExitCode(1) }
        }
    }
}

extension NewEntry {
    /// Whether a word of the command line is a URL.
    static func isURL(_ word: String) -> Bool {
        ["http://", "https://", "file://", "s3://"].contains { word.lowercased().hasPrefix($0) }
    }

    /// Reads a URL of the command line. Throws `MirrorError` with `usage`.
    static func url(_ word: String) throws(MirrorError) -> SourceURL {
        do { return try SourceURL(word) } catch {
            throw MirrorError(.usage, "\(error). Check how it is written.")
        }
    }

    /// Returns entries for URLs. Their names come from the URLs or the servers.
    ///
    /// - Parameters:
    ///   - folder: the folder of the files.
    ///   - target: the target of the one file, whatever its name.
    static func entries(
        for urls: [SourceURL], in folder: String, as target: Target?,
        _ configuration: Configuration
    ) async throws -> [NewEntry] {
        if let target { return urls.map { NewEntry(target: target, url: $0) } }
        let nameless = urls.filter { $0.lastSegment == nil }
        var names: [String: String] = [:]
        if !nameless.isEmpty {
            let reports = try await ServerProbe.reports(on: nameless, configuration: configuration)
            for (url, report) in zip(nameless, reports) {
                if let error = report.error { throw error }
                names[url.requestText] = report.name
            }
        }
        let folder = folder.hasSuffix("/") ? folder : folder + "/"
        return try urls.map { url in
            guard let name = url.lastSegment ?? names[url.requestText] else {
                throw MirrorError(
                    .usage, "\(url): neither the URL nor the server names a file. Use --as TARGET.")
            }
            do { return NewEntry(target: try Target(folder + name), url: url) } catch {
                throw MirrorError(.usage, "\(error).")
            }
        }
    }
}

extension AddCommand {
    /// Prints the new entries.
    private func show(_ entries: [NewEntry], isNew: Bool) {
        if output.json {
            return Console.output.document { json in
                json.member("manifest", path)
                json.member("new", isNew)
                json.objects("added", entries) { entry, json in
                    json.member("path", entry.target.path)
                    json.member("url", entry.url.description)
                }
            }
        }
        let style = TextStyle(isColored: output.usesColor(on: .output))
        for entry in entries {
            Console.output.line(
                style.label("added", .good) + entry.target.path.printable
                    + style.faint("  (\(entry.url.description.printable))"))
        }
        let verb = isNew ? "made, with" : "has"
        let more = isNew ? "" : " more"
        Console.output.line(
            "\(path.printable) \(verb) \(entries.count)\(more) \(Counted.verb(entries.count, "entry", "entries"))."
        )
    }
}

/// `mirror remove`: removes entries from a manifest.
struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Take files out of a manifest.",
        discussion: """
            Removes the entries of targets; order, form and notes of the rest stay as they are. Files that \
            were fetched stay where they are until `mirror sync --prune`.

            EXAMPLES:
              mirror remove maps.json Documents/old.pmtiles
              mirror remove maps.json Caches/a Caches/b && mirror sync --prune maps.json
            """)

    @Argument(
        help: ArgumentHelp("The path of a manifest in JSON or XML.", valueName: "manifest"),
        completion: .file())
    var manifest: String

    @Argument(help: ArgumentHelp("A target of the manifest.", valueName: "target"))
    var targets: [Target]

    @OptionGroup(title: "Output") var output: ListOptions

    func run() async throws {
        try await ManifestFile(path: manifest).remove(targets)
        show()
    }
}

extension RemoveCommand {
    /// Prints the targets whose entries are gone.
    private func show() {
        if output.json {
            return Console.output.document { json in
                json.member("manifest", manifest)
                json.member("removed", targets.map(\.path))
            }
        }
        let style = TextStyle(isColored: output.usesColor(on: .output))
        for target in targets {
            Console.output.line(style.label("removed", .warning) + target.path.printable)
        }
        Console.output.line(
            "Files that were fetched stay until mirror sync --prune \(manifest.printable).")
    }
}
