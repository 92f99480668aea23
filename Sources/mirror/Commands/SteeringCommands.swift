import ArgumentParser
import MirrorKit

/// `mirror pause`: makes a run ask for no more bytes.
struct PauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Let a run ask for no more bytes.",
        discussion: """
            The connections go back, and the parts are kept. A file that could not go on where it was \
            keeps its connection. The run waits until `mirror resume`. With --sticky the files are put \
            aside: this run and later ones go on without them.

            EXAMPLES:
              mirror pause                       everything
              mirror pause Documents/world.pmtiles
              mirror pause --sticky Caches/video.mp4
            """)

    @OptionGroup var options: SteeringOptions

    @Flag(help: "Also in later runs, until `mirror resume`.") var sticky = false

    func run() async throws {
        if sticky { try await options.refuseUnwanted() }
        try await options.send(
            .pause, isThorough: sticky, word: "paused",
            alone: sticky ? PauseCommand.putAside : nil)
    }

    @Sendable private static func putAside(
        _ session: MirrorSession, _ targets: [Target]
    ) async throws -> [Target]? {
        if targets.isEmpty { try await session.putAside(nil) }
        for target in targets { try await session.putAside(target) }
        return targets
    }
}

/// `mirror resume`: makes a paused run go on.
struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Let a paused run go on.",
        discussion: """
            Ends what `mirror pause` began, and what `mirror pause --sticky` put aside: a watch fetches \
            it at once, and otherwise the next sync does.

            EXAMPLES:
              mirror resume
              mirror resume Documents/world.pmtiles
            """)

    @OptionGroup var options: SteeringOptions

    func run() async throws {
        try await options.send(
            .resume, word: "resumed", alone: ResumeCommand.takeUp)
    }

    @Sendable private static func takeUp(
        _ session: MirrorSession, _ targets: [Target]
    ) async throws -> [Target]? {
        if targets.isEmpty { return try await session.takeUp(nil) ? [] : nil }
        var taken: [Target] = []
        for target in targets where try await session.takeUp(target) { taken.append(target) }
        return taken.isEmpty ? nil : taken
    }
}

/// `mirror cancel`: ends a run, or some of its transfers.
struct CancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "End a run, or some transfers.",
        discussion: """
            The parts are kept for the next run, unless --discard is given. A watch goes on, and syncs \
            when its next turn comes.

            EXAMPLES:
              mirror cancel
              mirror cancel --discard Documents/world.pmtiles
            """)

    @OptionGroup var options: SteeringOptions

    @Flag(help: "Delete the parts.") var discard = false

    func run() async throws {
        try await options.send(.cancel, isThorough: discard, word: "cancelled")
    }
}

/// The targets and the root of a steering verb.
struct SteeringOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "Targets such as Caches/a.bin; all where none is named.", valueName: "target"))
    var targets: [Target] = []

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "Output") var output: ResultOptions
}

extension SteeringOptions {
    /// Throws `MirrorError` with `usage` if no manifest that the root remembers wants a target.
    ///
    /// A root that remembers none may get its first one later, so it accepts every target.
    fileprivate func refuseUnwanted() async throws {
        if targets.isEmpty { return }
        let session = try root.session()
        do {
            var arguments = ManifestArguments(locations: [])
            arguments.saysSelection = false
            let manifests = try await arguments.look(in: session)
            if manifests.isEmpty { return }
            try await session.refuseUnwanted(targets, by: manifests)
        } catch {
            // A manifest that cannot be read says nothing about targets. `sync` reports it.
            if (error as? MirrorError)?.code == .usage { throw error }
        }
    }

    /// Sends a request to the processes that work for the root, and prints the result.
    ///
    /// Throws `ExitCode` with 1 if a target is unknown, and `MirrorError` with `noRun` if no
    /// process carried the request out.
    ///
    /// - Parameters:
    ///   - word: the word for what was done, e.g. `paused`.
    ///   - alone: the action if no process works for the root, or if no process has a target. It
    ///     returns the targets that it changed, or nil if there was nothing to change. `nil` in
    ///     place of the action means that only a process can do it.
    fileprivate func send(
        _ verb: ControlRequest.Verb, isThorough: Bool = false, word: String,
        alone: (@Sendable (MirrorSession, [Target]) async throws -> [Target]?)? = nil
    ) async throws {
        let session = try root.session()
        let request = ControlRequest(verb, targets, isThorough: isThorough)
        var unknown = Set(targets)
        var refusals: [String] = []
        var isDone = false
        for client in ControlClient.all(ofRoot: session.root) {
            var missing: [Target] = []
            var pieces = request.pieces[...]
            while let piece = pieces.popFirst() {
                switch client.ask(piece) {
                case .done(let unknown):
                    missing += unknown
                    isDone = true
                case .refused(let message):
                    missing += piece.targets
                    refusals.append(message)
                case .job, nil:
                    // A late answer would be read as the answer to the next request, so no further
                    // one is sent.
                    missing += piece.targets + pieces.flatMap(\.targets)
                    pieces = []
                    refusals.append("process \(client.process) does not answer")
                }
            }
            unknown.formIntersection(missing)
        }
        if !isDone || !unknown.isEmpty, let alone,
            let done = try await alone(session, Array(unknown).sorted())
        {
            unknown.subtract(done)
            isDone = true
        }
        guard isDone else {
            throw MirrorError.noRun(in: session.root, reason(of: verb, refusals.first))
        }
        show(word, unknown: unknown.sorted())
        if !unknown.isEmpty { throw ExitCode(1) }
    }

    /// Why no process carried a request out, and what helps. `refusal` is the first answer.
    ///
    /// Returns nil if no run is under way.
    private func reason(of verb: ControlRequest.Verb, _ refusal: String?) -> String? {
        switch verb {
        case .resume where refusal == nil:
            "no run is under way and nothing is paused; mirror sync goes on with the parts that are kept"
        case .pause:
            "\(refusal ?? "no run is under way at the moment"); mirror pause --sticky holds back later runs too"
        default: refusal
        }
    }

    private func show(_ word: String, unknown: [Target]) {
        let done = targets.filter { !unknown.contains($0) }
        if output.json {
            return Console.output.document { json in
                json.member("targets", done.map(\.path))
                json.member("all", targets.isEmpty)
                json.member("unknown", unknown.map(\.path))
            }
        }
        for target in unknown {
            Console.error.line("mirror: error: \(target.path.printable): no run fetches it.")
        }
        if output.quiet { return }
        if targets.isEmpty { Console.output.line("\(word) everything") }
        for target in done { Console.output.line("\(word) \(target.path.printable)") }
    }
}
