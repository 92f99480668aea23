import ArgumentParser
import Glibc
import MirrorKit
import Synchronization

/// `mirror get`: fetches single files, even those that a quota left out, and prints their paths.
struct GetCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Bring single files now.",
        discussion: """
            A URL needs no manifest: it is added to the root's own manifest `downloads`, and fetched with \
            all that mirror promises. So the same command goes on after an interruption, and `mirror sync` \
            keeps the file up to date. A URL that may come later stays there, and one that cannot be had \
            does not. A target is a file of a manifest. One that a quota evicted is \
            fetched, and another makes room for it.

            Prints the absolute path of each file, in the order in which they were asked for; everything \
            else goes to standard error. A pinned file that is there costs no request. Each file counts as \
            used now, so that it is among the last to be evicted.

            EXAMPLES:
              mirror get https://origin.example/world.pmtiles
              mirror get --to Documents/maps https://origin.example/world.pmtiles
              mirror get Caches/maps/bern.pmtiles
              open_map "$(mirror get --offline --stale-ok Caches/maps/bern.pmtiles)"
            """)

    @Argument(help: ArgumentHelp("URLs, or targets of a manifest.", valueName: "url|target"))
    var words: [String]

    @Option(help: ArgumentHelp("The folder of files that are named by URL.", valueName: "folder"))
    var to = "Caches/"

    @Option(help: ArgumentHelp("The target of the one URL.", valueName: "target"))
    var `as`: Target?

    @Option(
        help: ArgumentHelp(
            "A manifest that names them; repeatable. Default: those that this root remembers.",
            valueName: "manifest"))
    var manifest: [String] = []

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "How servers are talked to") var network: NetworkOptions
    @OptionGroup(title: "What is kept") var storage: StorageOptions
    @OptionGroup(title: "Limits") var running: RunningOptions
    @OptionGroup(title: "Limits") var removal: RemovalOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    /// Whether the words are URLs and not targets.
    private var namesURLs: Bool { words.contains(where: NewEntry.isURL) }

    func validate() throws {
        if namesURLs, !words.allSatisfy(NewEntry.isURL) {
            throw ValidationError("Name URLs or targets, not both.")
        }
        if namesURLs, !manifest.isEmpty {
            throw ValidationError("--manifest is for targets; a URL needs no manifest.")
        }
        if `as` != nil, words.count > 1 || !namesURLs {
            throw ValidationError("--as names the file of one URL.")
        }
    }

    func run() async throws {
        if namesURLs { return try await getURLs() }
        let targets = try words.map { word in
            do { return try Target(word) } catch { throw MirrorError(.usage, "\(error).") }
        }
        if let error = await get(targets, of: manifest).error { throw error }
    }

    /// Fetches targets of manifests. Returns what came, and the error that ended the command.
    private func get(
        _ targets: [Target], of manifests: [String]
    ) async -> (arrivals: Arrivals, error: (any Error)?) {
        let arrivals = Mutex(Arrivals())
        var work = FetchWork(
            verb: "get", root: root, network: network, running: running, removal: removal,
            output: output)
        work.hasOtherResults = true
        work.observer = { event in arrivals.withLock { $0.note(event) } }
        let planning = planning(of: targets)
        var ending: (any Error)?
        do {
            try await work.run(manifests) { [work] session, manifests, shown in
                do {
                    try await work.fetch(manifests, planning, in: session, shown) {
                        let arrivals = arrivals.withLock { $0 }
                        for target in arrivals.targets {
                            try await session.withFile(target) { _ in }
                        }
                        if let refusal = arrivals.refusal { throw refusal }
                    }
                } catch let error as MirrorError
                    where [.rootUnusable, .noSpace].contains(error.code)
                {
                    // If all files are there already, the command needs no lock.
                    let plan = try await session.plan(manifests, options: planning)
                    let isThere = plan.steps.allSatisfy { [.keep, .edited].contains($0.kind) }
                    guard isThere else { throw error }
                    arrivals.withLock { $0.targets.formUnion(plan.steps.map(\.target)) }
                    shown.show(kept: plan)
                }
            }
        } catch { ending = error }
        let came = arrivals.withLock { $0 }
        show(targets, came)
        return (came, ending)
    }

    private func planning(of targets: [Target]) -> PlanOptions {
        var options = PlanOptions()
        storage.apply(to: &options)
        options.asked = Set(targets)
        options.refusesUnknownNames = true
        return options
    }

    /// Prints the paths of the files that are there.
    private func show(_ targets: [Target], _ arrivals: Arrivals) {
        guard !output.json else { return }
        for target in targets where arrivals.targets.contains(target) {
            Console.output.line("\(arrivals.root)/\(target.path)")
        }
    }
}

// MARK: URLs

extension GetCommand {
    /// Adds URLs to the root's own manifest, and fetches their files.
    ///
    /// A URL whose file cannot be had is taken out again, so that later runs do not ask for it. One
    /// that may come later stays.
    private func getURLs() async throws {
        let session = try MirrorSession(
            root: root.root, configuration: running.configuration(network))
        let path = session.root + "/.mirror/downloads.json"
        let file = ManifestFile(path: path)
        let urls = try words.reduce(into: [SourceURL]()) { urls, word in
            let url = try NewEntry.url(word)
            if !urls.contains(url) { urls.append(url) }
        }
        let known =
            file.exists
            ? try await ManifestSource.path(path).read().manifest.resources : ResourceTable([])
        let targets = known.reduce(into: [:]) { targets, resource in
            targets[resource.primary.url] = resource.target
        }
        if let `as`, let known = targets[urls[0]], known != `as` {
            throw MirrorError(
                .usage,
                "\(urls[0]): this root has it as \(known) already. Leave --as out, or take it out first: mirror remove \(path.printable) \(known)"
            )
        }
        let new = try await NewEntry.entries(
            for: urls.filter { targets[$0] == nil }, in: to, as: `as`, network.configuration)
        for entry in new {
            guard let other = known.first(where: { $0.target == entry.target }) else { continue }
            throw MirrorError(
                .usage,
                "\(entry.target): this is the file of \(other.primary.url). Choose another name with --as."
            )
        }
        if !new.isEmpty {
            try await session.withLock(waitingSeconds: running.ending.wait?.seconds ?? 0) {
                try await file.add(new)
                // A URL may have a password, or a query that opens the file.
                chmod(path, 0o600)
            }
        }
        let added = new.reduce(into: targets) { $0[$1.url] = $1.target }
        let (arrivals, error) = await get(urls.compactMap { added[$0] }, of: [path])
        guard let error else { return }
        let isFinal =
            (error as? MirrorError).map { !$0.isRetryable && $0.code != .cancelled }
            ?? (error is ManifestError)
        let lost = new.map(\.target).filter {
            !arrivals.targets.contains($0) && (isFinal || arrivals.lost.contains($0))
        }
        if !lost.isEmpty {
            try await session.withLock(waitingSeconds: running.ending.wait?.seconds ?? 0) {
                try await file.remove(lost)
            }
        }
        if Interruption.exitCode == nil {
            let waiting = urls.compactMap { added[$0] }.filter {
                !arrivals.targets.contains($0) && !lost.contains($0)
            }
            if let note = GetCommand.note(about: waiting, in: path) {
                RunOutput(options: output).note(note)
            }
        }
        throw error
    }

    /// Returns a sentence about files that did not come and that later runs ask for.
    ///
    /// Returns nil if there are none.
    private static func note(about waiting: [Target], in path: String) -> String? {
        guard let first = waiting.first else { return nil }
        let remove = "mirror remove \(path.shellWord)"
        return waiting.count == 1
            ? "\(first) stays in this root's downloads, and mirror sync tries it again; \(remove) \(first.path.shellWord) ends that."
            : "\(waiting.count) files stay in this root's downloads, and mirror sync tries them again; \(remove) TARGET ends that for one."
    }
}

/// The files that a run fetched, or found in place.
private struct Arrivals {
    var targets: Set<Target> = []
    /// The files that no later run would bring.
    var lost: Set<Target> = []
    var root = ""
    /// The error about the first file that the run left out; else nil.
    var refusal: MirrorError?

    mutating func note(_ event: Event) {
        switch event.body {
        case .done(let done) where done.outcome == .evicted:
            leave(done, .spaceLimit, "A file larger than the quota does not come: raise --quota.")
        case .done(let done) where done.outcome == .noRoom:
            leave(done, .spaceLimit, "Make room on the disk, or lower --min-free.")
        case .done(let done) where done.outcome == .deferred:
            leave(done, .noRun, "mirror resume \(done.target) lets it come.")
        case .failed(let failed):
            if !failed.error.isRetryable { lost.insert(failed.target) }
            if failed.isOptional { refusal = refusal ?? failed.error }
        case .done(let done): targets.insert(done.target)
        case .summary(let summary): root = summary.root
        default: break
        }
    }

    /// Keeps an error about a file that the run left out, so that the command fails.
    private mutating func leave(_ done: Event.Done, _ code: FailureCode, _ advice: String) {
        let target = done.target
        refusal =
            refusal
            ?? MirrorError(
                code, "\(target): not here: \(done.reason.because). \(advice)", target: target)
    }
}

/// Opens a session, loads manifests and shows a run, for verbs that fetch among other work.
struct FetchWork {
    /// The verb, as `mirror jobs` names it.
    let verb: String
    let root: RootOptions
    let network: NetworkOptions
    let running: RunningOptions
    /// The removal options. `nil` means that the verb's runs remove nothing.
    var removal: RemovalOptions?
    let output: OutputOptions
    /// Whether standard output has results other than the report of the run.
    var hasOtherResults = false
    /// Whether a folder that is no root becomes one when manifests are given.
    var makesRoot = true
    /// Receives every event of the run, if it is not nil.
    var observer: (@Sendable (Event) -> Void)?

    /// Calls `body` with the session, the manifests and the output of the run.
    ///
    /// The manifests are the given ones, or those that the root remembers.
    func run(
        _ locations: [String],
        _ body: (MirrorSession, [Manifest], RunOutput) async throws -> Void
    ) async throws {
        running.ending.watchDeadline()
        var shown = RunOutput(options: output)
        shown.hasOtherResults = hasOtherResults
        shown.observer = observer
        try await shown.reportingFailure {
            try MirrorSession(root: root.root, configuration: running.configuration(network))
        } _: { [shown] session in
            var shown = shown
            let responder = ControlResponder(verb: verb, root: session.root)
            defer { responder.close() }
            shown.responder = responder
            if locations.isEmpty || !makesRoot { try session.requireRoot() }
            let manifests = try await ManifestArguments(
                locations: locations, isOffline: network.offline, isStrict: network.strict
            ).load(in: session)
            try await body(session, manifests, shown)
        }
    }

    /// Plans and executes under the lock, and shows the run.
    ///
    /// Throws `ExitCode` with the run's exit code if it is not 0.
    func fetch(
        _ manifests: [Manifest], _ planning: PlanOptions, in session: MirrorSession,
        _ shown: RunOutput, afterwards: @Sendable () async throws -> Void = {}
    ) async throws {
        try await shown.carryOut(
            manifests, planning, waiting: running.ending.wait, in: session
        ) { plan in
            CommandStage.enter(.running)
            if !plan.isEmpty { shown.responder?.begin(session) }
            var options = try running.runOptions(network)
            removal?.apply(to: &options)
            try await shown.show(session.execute(plan, options: options))
            try await afterwards()
        }
    }
}
