import ArgumentParser
import MirrorKit

/// `mirror jobs`: lists the runs and watches of this user, or shows one run live.
struct JobsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "jobs",
        abstract: "List the runs of this user.",
        discussion: """
            Every run that fetches, and every `watch`, listens in $XDG_RUNTIME_DIR/mirror, or in a \
            folder of this user among the temporary files.

            --live shows on a terminal what `mirror sync` shows in its own, until the run ends or \
            Ctrl-C is typed; the run does not notice. A watch is followed from one sync to the next.

            EXAMPLES:
              mirror jobs
              mirror jobs --json
              mirror jobs --live --root /srv/maps
            """)

    @Flag(help: "Show the transfers of the root's run as they go on.") var live = false

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "Output") var output: ResultOptions

    func validate() throws {
        if live, output.json || output.quiet {
            throw ValidationError("--live shows a picture: it excludes --json and --quiet.")
        }
    }

    func run() async throws {
        guard live else {
            return try list(ofRoot: try root.root.map { try MirrorSession(root: $0).root })
        }
        guard LiveDisplay.shared.isLive else {
            throw MirrorError(
                .usage,
                "--live needs a terminal, and standard error is none. `mirror jobs` lists what runs."
            )
        }
        try await LiveDisplay.shared.during(FewChoices()) { try await follow() }
    }

    private func list(ofRoot root: String?) throws {
        var jobs: [JobDescription] = []
        // Processes that do not answer, such as one that Ctrl-Z stopped.
        var silent: [Int32] = []
        for client in ControlClient.all(ofRoot: root) {
            if case .job(let job) = client.ask(ControlRequest(.describe)) {
                jobs.append(job)
            } else if client.isSilent {
                silent.append(client.process)
            }
        }
        if jobs.isEmpty, silent.isEmpty, let obstacle = ControlAddress.obstacle {
            throw MirrorError(.inputOutput, obstacle)
        }
        if output.json {
            return Console.output.document { json in
                json.objects("jobs", jobs) { job, json in job.writeMembers(to: &json) }
                json.array("silent", silent) { process, json in json.number(Int64(process)) }
            }
        }
        let clock = LocalClock.ofThisProcess(now: .now)
        for job in jobs { Console.output.line(job.sentence(on: clock).printable) }
        for process in silent { Console.output.line("\(process)  does not answer") }
        if jobs.isEmpty, silent.isEmpty, !output.quiet { Console.output.line("Nothing runs.") }
    }
}

// MARK: The live display

extension JobsCommand {
    private func follow() async throws {
        let session = try root.session()
        let client = ControlClient.all(ofRoot: session.root).first
        guard let client, case .job(let job) = client.ask(ControlRequest(.follow)) else {
            let silent = client.flatMap { $0.isSilent ? $0.process : nil }
            throw MirrorError.noRun(
                in: session.root, silent.map { "process \($0) does not answer" })
        }
        LiveDisplay.shared.follow(since: job.since)
        Console.output.line(job.sentence(on: .ofThisProcess(now: .now)).printable)
        var report = TerminalReport(
            groupsFailures: true, countsSuccess: Console.output.isTerminal)
        var hasEnded = false
        for await line in client.lines() {
            hasEnded = String(decoding: line.prefix(40), as: UTF8.self).contains("\"summary\"")
            guard let event = Event(line: line) else { continue }
            LiveDisplay.shared.apply(event)
            if report.absorbs(event) { continue }
            if case .failed(let failed) = event.body {
                Console.error.line("failed  \(failed.error.sentence.printable)")
            }
            if case .done(let done) = event.body,
                ![.kept, .notModified, .deferred].contains(done.outcome)
            {
                Console.output.line("\(done.outcome.word)  \(done.target.path.printable)")
            }
        }
        let style = TextStyle(isColored: ColorChoice.auto.applies(on: .error))
        for line in report.end(style) { Console.error.line(line) }
        guard hasEnded else {
            throw MirrorError.noRun(
                in: session.root,
                "process \(client.process) told no more before its run had ended: it was killed, or this one read too slowly"
            )
        }
    }
}

extension MirrorError {
    /// Makes the error for a request that no process carries out.
    ///
    /// - Parameter reason: why a process did not carry it out. `nil` means that no run is under
    ///   way.
    static func noRun(in root: String, _ reason: String?) -> MirrorError {
        MirrorError(
            .noRun,
            "\(root): \(reason ?? "no run is under way at the moment"). `mirror jobs` lists what runs."
        )
    }
}

extension JobDescription {
    /// One line for people.
    func sentence(on clock: LocalClock) -> String {
        var text = "\(process)  \(verb)  \(root)  "
        if isRunning {
            text += isPaused ? "paused" : "running"
            text += " since \(clock.time(of: since)), "
            text +=
                "\(totals.ended) of \(Counted(totals.transfers, "transfer")), \(ByteCount(totals.bytes))"
            if let seconds = totals.secondsLeft, seconds > 0, !isPaused {
                text += ", \(DurationText(seconds: seconds)) left"
            }
        } else {
            text += until.map { "sleeps until \(clock.description(of: $0))" } ?? "begins or ends"
        }
        return text
    }
}
