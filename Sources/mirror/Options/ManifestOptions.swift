import ArgumentParser
import MirrorKit

/// The manifests that a command was given. They are read and checked against the options.
struct ManifestArguments {
    static let help = ArgumentHelp(
        "A manifest, or a list as `mirror import` reads it: a path, an http(s) URL, or - for standard input. Without one, those that this root remembers.",
        valueName: "manifest")

    let locations: [String]
    /// Whether mirror reads manifests with URLs from their last good copies, without a request.
    var isOffline = false
    /// Format and base for arguments that are lists. `nil` for verbs without these options.
    var lists: ImportOptions?
    /// Whether each manifest must have a name.
    ///
    /// Files that a manifest of this name no longer lists will be removed.
    var needsNames = false
    /// Whether each resource must be pinned.
    var needsPins = false
    /// Whether a list is refused if mirror cannot take all its entries.
    var isStrict = false
    /// The resources that are wanted. `nil` stands for the selections that the root remembers.
    var selection: Selection?
    /// What narrows the selections in this run alone.
    private(set) var narrowing = Selection()
    /// Whether notes name the selections.
    var saysSelection = true

    /// Takes the selection of the command line: for the manifests that are named, or else, in
    /// addition to what the root remembers, for this run alone.
    mutating func choose(_ given: Selection, selectsAll: Bool = false) {
        if !locations.isEmpty {
            selection = given
        } else {
            narrowing = given
            if selectsAll { selection = Selection() }
        }
    }

    /// Returns the given manifests as sources, without those that the root remembers.
    ///
    /// Throws `MirrorError` with `usage`.
    func sources() throws -> [ManifestSource] {
        try locations.map { try ManifestSource(argument: $0) }
    }

    private func hint() throws -> ListHint { try lists?.hint() ?? ListHint() }

    /// Reads the manifests. Throws `ManifestError` or `MirrorError`.
    func load(in session: MirrorSession) async throws -> [Manifest] {
        try await load(try sources(), fresh: [], in: session).manifests
    }

    /// Reads manifests again.
    ///
    /// The manifests in `fresh` come from their last good copies, without a request.
    func load(
        _ sources: [ManifestSource], fresh: Set<ManifestSource>, in session: MirrorSession
    ) async throws -> LoadedManifests {
        CommandStage.enter(.readingManifests)
        var loaded = try await session.manifests.load(
            sources, isOffline: isOffline, fresh: fresh, hint: try hint(), selection: selection)
        try nameGaps(in: &loaded)
        for (position, manifest) in loaded.manifests.enumerated() {
            if needsNames, manifest.name == nil {
                throw MirrorError(
                    .manifestInvalid,
                    "\(manifest.owner): --prune needs to know which files are the manifest's. Add a name to it."
                )
            }
            if needsPins {
                let isNamed = sources.count == loaded.manifests.count
                try manifest.refuseUnpinned(label: isNamed ? sources[position].label : nil)
            }
        }
        return loaded
    }

    /// Reads the given manifests, or else those that the root remembers.
    ///
    /// It is no error if there is no manifest.
    func loadKnown(in session: MirrorSession) async throws -> [Manifest] {
        CommandStage.enter(.readingManifests)
        let sources = try sources()
        var loaded =
            sources.isEmpty
            ? try await session.manifests.loadRemembered(isOffline: isOffline)
            : try await session.manifests.load(
                sources, isOffline: isOffline, hint: try hint(), selection: selection)
        try nameGaps(in: &loaded)
        return loaded.manifests
    }

    /// Reads the given manifests, or else those that the root remembers, without a request.
    ///
    /// It is no error if there is no manifest.
    func look(in session: MirrorSession) async throws -> [Manifest] {
        CommandStage.enter(.readingManifests)
        var loaded = try await session.manifests.look(at: try sources(), hint: try hint())
        try nameGaps(in: &loaded)
        return loaded.manifests
    }
}

extension ManifestArguments {
    /// Prints the notices about manifests, and what lists and selections leave out.
    ///
    /// With `isStrict`, throws `ManifestError` if anything is left out.
    private func nameGaps(in loaded: inout LoadedManifests) throws {
        for at in loaded.manifests.indices {
            loaded.manifests[at].leaveOutUnfitReleases(narrowing)
        }
        show(loaded)
        if isStrict { return try ManifestError.refuseGaps(in: loaded.manifests) }
        for manifest in loaded.manifests { manifest.showLeftOut() }
    }

    /// Prints the notices about manifests, e.g. that a manifest is the last good copy.
    private func show(_ loaded: LoadedManifests) {
        var notes = loaded.notices.map(\.sentence)
        for manifest in loaded.manifests where saysSelection && !manifest.selection.isAll {
            let name = loaded.manifests.count > 1 ? " of \(manifest.owner)" : ""
            let counts = [manifest.selectedCount, manifest.resources.count].map(Counted.grouped)
            notes.append(
                "selection\(name): \(manifest.selection), \(counts[0]) of \(counts[1])"
                    + (selection == nil ? " (mirror sync --all ends it)" : ""))
        }
        if saysSelection, !narrowing.isAll { notes.append("in this run only: \(narrowing)") }
        for note in notes { Console.error.line("mirror: note: \(note.printable)") }
    }
}

/// The options for reading lists of other programs.
struct ImportOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read a list as this format, whatever it looks like: urls, sums, npm and others (docs/lists.md).",
            valueName: "format"))
    var from: ListFormat?

    @Option(
        help: ArgumentHelp(
            "The folder of the files that a list names without URLs.", valueName: "url"))
    var base: String?

    @Option(
        help: ArgumentHelp(
            "The package index at which files of requirements.txt and the like are found by their digests.",
            valueName: "url"))
    var index: String?

    @Option(
        help: ArgumentHelp(
            "The registry of npm packages without a URL. Default: npm's public one.",
            valueName: "url"))
    var registry: String?

    @Option(
        help: ArgumentHelp(
            "How deep into its folders a directory listing is followed. Default: \(ListHint.defaultDepth).",
            valueName: "folders"))
    var depth: Int?

    func validate() throws {
        if let depth, !(0...100).contains(depth) {
            throw ValidationError("--depth is a number from 0 to 100.")
        }
    }

    /// Returns the hint from the options. Throws `MirrorError` with `usage`.
    func hint(name: String? = nil) throws -> ListHint {
        try ListHint(
            format: from, base: try base.map { try ImportOptions.url($0, "base", "files/") },
            name: name, index: try index.map { try ImportOptions.url($0, "index", "simple/") },
            registry: try registry.map { try ImportOptions.url($0, "registry", "npm/") },
            depth: depth)
    }

    private static func url(_ text: String, _ option: String, _ example: String) throws -> SourceURL
    {
        do throws(SourceURLError) { return try SourceURL(text) } catch {
            throw MirrorError(
                .usage,
                "--\(option) \(error). Write an absolute URL such as https://origin.example/\(example)."
            )
        }
    }
}

extension Manifest {
    /// Prints which entries of the list are left out, and why.
    func showLeftOut() {
        for sentence in leftOut.sentences() {
            Console.error.line("mirror: note: \((label ?? owner).printable): \(sentence).")
        }
    }
}

/// Which resources are selected, and which state is assumed of them; shared by plan and sync.
struct SelectionOptions: ParsableArguments {
    @Option(help: .only, completion: .tags) var only: [String] = []

    @Option(help: .skip, completion: .tags) var skip: [String] = []

    @Option(help: .platform) var platform: String?

    @Option(help: .python) var python: String?

    @Flag(help: "End the selection that these options made for a manifest before.")
    var all = false

    @Flag(help: "Remove files that the manifest named before and no longer names.")
    var prune = false

    @Flag(help: "All or nothing: put all files of a manifest in place together, or none.")
    var atomic = false

    @Flag(help: "Read every file again, whatever its time and size say.") var verify = false

    @Flag(help: "Treat every unpinned file as due.") var refresh = false

    @Option(help: ArgumentHelp("Treat this file as not there; repeatable.", valueName: "target"))
    var refetch: [Target] = []

    @Flag(help: "Move a target that another manifest wants otherwise to the one that is given.")
    var takeOver = false

    @Flag(help: .requirePinned) var requirePinned = false

    func validate() throws {
        if all, !only.isEmpty || !skip.isEmpty || platform != nil || python != nil {
            throw ValidationError("--all selects everything; leave --only and the like out.")
        }
        if (only + skip).contains(where: { $0.isEmpty || $0 != $0.printable }) {
            throw ValidationError("--only and --skip take words without control characters.")
        }
    }

    /// Gives the selection of these options to the manifests of a command.
    func choose(in arguments: inout ManifestArguments) throws {
        let selection = Selection(
            only: Set(only), skip: Set(skip),
            wheels: try WheelTarget(platform: platform, python: python))
        arguments.choose(selection, selectsAll: all)
    }

    /// The options of a plan of a command's manifests.
    func planOptions(of arguments: ManifestArguments) -> PlanOptions {
        var options = PlanOptions()
        options.narrow(to: arguments.narrowing)
        options.prune = prune
        options.atomic = atomic
        options.refresh = refresh
        options.refetch = Set(refetch)
        options.verify = verify
        options.takeOver = takeOver
        options.refusesUnknownNames = true
        return options
    }
}
