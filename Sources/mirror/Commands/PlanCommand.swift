import ArgumentParser
import MirrorKit

/// `mirror plan`: shows the steps that sync would take, and why.
struct PlanCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Say what sync would do, and why.",
        discussion: """
            Looks at the manifests, the index and the tree; asks no server for a resource, waits for \
            no lock, and changes nothing.

            EXAMPLES:
              mirror plan manifest.json
              mirror plan --exit-code manifest.json || mirror sync manifest.json
              mirror plan --json manifest.json | jq '.totals.bytesToFetch'
            """)

    @Argument(help: ManifestArguments.help, completion: .file()) var manifests: [String] = []

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "How a list is read") var lists: ImportOptions
    @OptionGroup(title: "What") var selection: SelectionOptions
    @OptionGroup(title: "What") var shard: ShardOptions
    @OptionGroup(title: "How a manifest's server is talked to")
    var network: ManifestNetworkOptions
    @OptionGroup(title: "When it may run") var when: PermissionOptions
    @OptionGroup(title: "What is kept") var storage: StorageOptions
    @OptionGroup(title: "Output") var output: DetailOptions

    @Option(help: .store, completion: .directory) var store: [String] = []

    @Option(help: .minFree) var minFree = ByteCount(64 << 20)

    @Flag(help: .strictLists) var strict = false

    @Flag(help: "Exit 2 when there is something to do.") var exitCode = false

    func run() async throws {
        var configuration = network.configuration
        configuration.minFree = minFree.bytes
        configuration.store = store
        try shard.apply(to: &configuration)
        let session = try MirrorSession(root: root.root, configuration: configuration)
        if manifests.isEmpty { try session.requireRoot() }
        var arguments = ManifestArguments(
            locations: manifests, isOffline: network.offline, lists: lists)
        arguments.needsNames = selection.prune
        arguments.needsPins = selection.requirePinned
        arguments.isStrict = strict
        try selection.choose(in: &arguments)
        var options = selection.planOptions(of: arguments)
        let manifests = try await arguments.load(in: session)
        storage.apply(to: &options)
        let plan = try await session.plan(manifests, options: options)
        if !output.json, !output.quiet, let note = storage.note(about: plan) {
            Console.error.line("mirror: note: \(note)")
        }
        plan.show(output, try await PermissionStatus(of: when.permission, in: session))
        if !output.json, !output.quiet { plan.showPaused(try session.pausedTargets()) }
        if exitCode, !plan.treeMatches { throw ExitCode(2) }
    }
}

extension Plan {
    /// Prints a JSON document for scripts, or a line for each step for people.
    ///
    /// The output also says whether the transfers may run now.
    func show(_ options: any OutputChoices, _ permission: PermissionStatus? = nil) {
        if options.json { return write(permission) { Console.output.write(bytes: $0) } }
        for warning in warnings { Console.error.line("mirror: warning: \(warning)") }
        let style = TextStyle(isColored: options.usesColor(on: .output))
        let clock = LocalClock.ofThisProcess(now: now)
        var lines = LineBuffer()
        lines.line(TextReport.title(root: root, shard: shard))
        for position in steps.indices {
            if !options.verbose, steps.isPlainKeep(at: position) { continue }
            let step = shownStep(at: position)
            if isShown(step, options) { lines.line(line(step, style, clock)) }
        }
        if !options.quiet {
            lines.line(totals)
            for set in AtomicSets(self).entries { lines.line(line(set)) }
            for sentence in permission?.sentences(on: clock) ?? [] { lines.line(sentence) }
        }
        lines.flush()
    }

    /// Says how many transfers a run would leave to `mirror resume`.
    fileprivate func showPaused(_ paused: PausedTargets) {
        let count = transfers(pausedBy: paused)
        if count > 0 { Console.output.line(TreeTotals.Attention.paused.heading(count) + ".") }
    }

    private func isShown(_ step: Step, _ options: any OutputChoices) -> Bool {
        if options.quiet { return step.kind == .conflict }
        return options.verbose || step.kind != .keep || !step.doesNothing
    }

    private func line(_ step: Step, _ style: TextStyle, _ clock: LocalClock) -> String {
        let isNoRoom = step.reason.isNoRoom
        let meaning: TextStyle.Meaning =
            switch step.kind {
            case _ where isNoRoom: .warning
            case .conflict, .edited, .remove: .warning
            case .keep, .revalidate: .neutral
            default: .good
            }
        let word = isNoRoom ? Outcome.noRoom.word : step.kind.rawValue
        var text = style.label(word, meaning) + step.target.path.printable
        if !step.doesNothing, !isNoRoom, let size = step.size {
            text += "  " + ByteCount(size - min(size, step.reusableBytes)).description
        }
        let store = store(of: step).map { "; \($0.printable) has it" } ?? ""
        return text + style.faint("  (\(step.reason.because(on: clock).printable)\(store))")
    }

    private func line(_ set: AtomicSets.Entry) -> String {
        let way =
            set.folder.map {
                "\($0.printable) is exchanged as a whole where it holds nothing else."
            } ?? "its files share no folder of their own, so they are renamed one after another."
        return "\(Owners(set.owners).description.printable) is all or nothing: \(way)"
    }

    private var totals: String {
        let totals = PlanTotals(of: self)
        if isOnlyRemovals, totals.steps.isEmpty { return "Nothing to remove." }
        var counts = Step.Kind.allCases.compactMap { kind in
            totals.steps[kind].map { "\($0) \(kind.rawValue)" }
        }
        if totals.withoutRoom > 0 {
            counts.append("\(totals.withoutRoom) \(Outcome.noRoom.word)")
        }
        var text =
            counts.isEmpty
            ? "Nothing is wanted\(shard.map { " of shard \($0)" } ?? "")."
            : counts.joined(separator: ", ") + "."
        text += " To fetch: \(ByteCount(totals.bytesToFetch))"
        if totals.unknownSizes > 0 { text += " + \(totals.unknownSizes) of unknown size" }
        if totals.storedFiles > 0 {
            let files = Counted(totals.storedFiles, "file")
            text += ", of which stores have \(files), \(ByteCount(totals.storedBytes))"
        }
        if totals.bytesReused > 0 {
            let verb = Counted.verb(totals.bytesReused, "is", "are")
            text += "; \(ByteCount(totals.bytesReused)) \(verb) there already"
        }
        text += "."
        if totals.asked > 0 {
            let it = Counted.verb(totals.asked, "it", "they")
            text +=
                " \(totals.asked) to ask about (\(ByteCount(totals.bytesIfChanged)) if \(it) changed)."
        }
        if totals.orphans > 0 {
            text += " \(totals.orphans) no longer wanted (--prune removes them)."
        }
        return text
    }
}
