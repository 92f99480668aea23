import ArgumentParser
import MirrorKit
import MirrorModel

/// `mirror top`: the live display of a run in another terminal.
struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Show the transfers of a run that another process makes.",
        discussion: """
            Shows what `mirror sync` shows in its own terminal, until the run ends or Ctrl-C is typed; \
            the run does not notice. A watch is followed from one sync to the next.

            EXAMPLES:
              mirror top
              mirror top --root /srv/maps
              mirror top --json | jq -r 'select(.event == "done") | .path'
            """)

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "Output") var output: VerdictOptions

    func run() async throws {
        let session = try MirrorSession(root: root.root)
        try session.requireRoot()
        guard let client = ControlClient.all(ofRoot: session.root).first,
            case .job(let job) = client.ask(.follow)
        else {
            throw MirrorError(
                .noRun,
                "\(session.root): no run is under way at the moment. `mirror jobs` lists what runs."
            )
        }
        if !output.json, !output.quiet {
            Console.output.line(job.sentence(on: .ofThisProcess(now: .now)).printable)
        }
        let display = LiveDisplay()
        let drawing = Task { if !output.json { await display.run() } }
        defer {
            drawing.cancel()
            display.end()
        }
        for await line in client.lines() { show(line, display) }
    }

    private func show(_ line: [UInt8], _ display: LiveDisplay) {
        if output.json { return Console.output.write(bytes: line + [UInt8(ascii: "\n")]) }
        guard let event = Event(followed: line) else { return }
        display.apply(event)
        if output.quiet { return }
        switch event.body {
        case .done(let done) where ![.kept, .notModified, .deferred].contains(done.outcome):
            display.print("\(done.outcome.word)  \(done.target.path.printable)", on: .output)
        case .failed(let failed):
            display.print("failed  \(failed.error.sentence.printable)", on: .error)
        default: break
        }
    }
}
