import ArgumentParser
import MirrorKit
import MirrorModel

/// Which targets a steering verb is about, and in which root.
struct SteeringOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "Targets such as Caches/a.bin; all where none is named.", valueName: "target"))
    var targets: [Target] = []

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "Output") var output: VerdictOptions
}

/// Sends a request to the processes that work for a root, and prints the result.
struct Steering {
    let options: SteeringOptions
    /// The request.
    let request: ControlRequest
    /// The word for what was done, e.g. `paused`.
    let word: String
    /// The action if no process works for the root, or none has a target; returns the targets that
    /// it was done to, and nil if nothing was to be done. Nil if nothing can be done then.
    var alone: (@Sendable (MirrorSession, [Target]) async throws -> [Target]?)?

    /// Sends the request. Throws `ExitCode` with 1 if a target is unknown, and `MirrorError` with
    /// `noRun` if no process carried the request out.
    func run() async throws {
        let session = try MirrorSession(root: options.root.root)
        try session.requireRoot()
        var unknown = Set(options.targets)
        var refusals: [String] = []
        var isDone = false
        for client in ControlClient.all(ofRoot: session.root) {
            var missing: [Target] = []
            var pieces = request.pieces[...]
            while let piece = pieces.popFirst() {
                switch client.ask(piece) {
                case .done(let targets):
                    missing += targets
                    isDone = true
                case .refused(let message):
                    missing += piece.targets
                    refusals.append(message)
                case .job, nil:
                    // A later answer would be taken for that of the next request.
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
            throw MirrorError.noRun(in: session.root, refusals.first)
        }
        show(unknown: unknown.sorted())
        if !unknown.isEmpty { throw ExitCode(1) }
    }

    private func show(unknown: [Target]) {
        let done = options.targets.filter { !unknown.contains($0) }
        if options.output.json {
            var json = JSONWriter()
            json.object { json in
                json.member("v", 1)
                json.member("targets", done.map(\.path))
                json.member("all", options.targets.isEmpty)
                json.member("unknown", unknown.map(\.path))
            }
            json.newline()
            return Console.output.write(bytes: json.take())
        }
        for target in unknown {
            Console.error.line("mirror: error: \(target.path.printable): no run fetches it.")
        }
        if options.output.quiet { return }
        if options.targets.isEmpty { Console.output.line("\(word) everything") }
        for target in done { Console.output.line("\(word) \(target.path.printable)") }
    }
}
