import ArgumentParser
import MirrorKit
import MirrorModel

/// `mirror top`: the live display of a run in another terminal.
struct TopCommand: AsyncParsableCommand, ShowsProgress {
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

    /// With `--quiet` only the lines of progress are left.
    var choices: any OutputChoices { FewChoices(json: output.json) }

    func run() async throws {
        let session = try MirrorSession(root: root.root)
        try session.requireRoot()
        let client = ControlClient.all(ofRoot: session.root).first
        guard let client, case .job(let job) = client.ask(.follow) else {
            let flaw =
                client.map { $0.isSilent ? "process \($0.process) does not answer" : nil } ?? nil
            throw MirrorError(
                .noRun,
                "\(session.root): \(flaw ?? "no run is under way at the moment"). `mirror jobs` lists what runs."
            )
        }
        LiveDisplay.shared.follow(since: job.since)
        if !output.json, !output.quiet {
            Console.output.line(job.sentence(on: .ofThisProcess(now: .now)).printable)
        }
        let isLive = LiveDisplay.shared.isShowing
        var report = TerminalReport(
            groupsFailures: isLive && !output.quiet,
            countsSuccess: isLive && Console.output.isTerminal)
        var hasEnded = false
        for await line in client.lines() {
            hasEnded = String(decoding: line.prefix(40), as: UTF8.self).contains("\"summary\"")
            show(line, &report)
        }
        let style = TextStyle(isColored: ColorChoice.auto.applies(on: .error))
        for line in report.end(style) { Console.error.line(line) }
        guard hasEnded else {
            throw MirrorError(
                .noRun,
                "\(session.root): process \(client.process) told no more before its run had ended: it was killed, or this one read too slowly. `mirror jobs` lists what runs."
            )
        }
    }

    private func show(_ line: [UInt8], _ report: inout TerminalReport) {
        if output.json { return Console.output.write(bytes: line + [UInt8(ascii: "\n")]) }
        guard let event = EventDecoder.event(in: line) else { return }
        LiveDisplay.shared.apply(event)
        if output.quiet || report.absorbs(event) { return }
        switch event.body {
        case .done(let done) where ![.kept, .notModified, .deferred].contains(done.outcome):
            Console.output.line("\(done.outcome.word)  \(done.target.path.printable)")
        case .failed(let failed):
            Console.error.line("failed  \(failed.error.sentence.printable)")
        default: break
        }
    }
}
