import ArgumentParser
import MirrorKit
import Synchronization

/// `mirror get`: fetches single files, even those that a quota left out, and prints their paths.
struct GetCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Bring single files now, and print where they are.",
        discussion: """
            Prints the absolute path of each file, in the order in which they were asked for; everything \
            else goes to standard error. A file that is there and not due costs no request. One that a \
            quota evicted is fetched, and another makes room for it. Each file counts as used now, so \
            that it is among the last to be evicted.

            EXAMPLES:
              mirror get Caches/maps/bern.pmtiles
              open_map "$(mirror get --offline Caches/maps/bern.pmtiles)"
              mirror get --manifest maps.json Caches/a.bin Caches/b.bin
            """)

    @Argument(help: ArgumentHelp("A target of a manifest.", valueName: "target"))
    var targets: [Target]

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

    func run() async throws {
        let arrivals = Mutex(Arrivals())
        var work = FetchWork(
            root: root, network: network, running: running, removal: removal, output: output)
        work.hasOtherResults = true
        work.observer = { event in arrivals.withLock { $0.note(event) } }
        do {
            try await work.run(manifest) { [work] session, manifests, shown in
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
        } catch {
            show(arrivals.withLock { $0 })
            throw error
        }
        show(arrivals.withLock { $0 })
    }

    private var planning: PlanOptions {
        var options = PlanOptions()
        storage.apply(to: &options)
        options.asked = Set(targets)
        options.refusesUnknownNames = true
        return options
    }

    /// Prints the paths of the files that are there.
    private func show(_ arrivals: Arrivals) {
        guard !output.json else { return }
        for target in targets where arrivals.targets.contains(target) {
            Console.output.line("\(arrivals.root)/\(target.path)")
        }
    }
}

/// The files that a run fetched, or found in place.
private struct Arrivals {
    var targets: Set<Target> = []
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
        case .failed(let failed) where failed.isOptional: refusal = refusal ?? failed.error
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
            var options = try running.runOptions(network)
            removal?.apply(to: &options)
            try await shown.show(session.execute(plan, options: options))
            try await afterwards()
        }
    }
}
