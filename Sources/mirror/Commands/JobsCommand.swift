import ArgumentParser
import MirrorKit
import MirrorModel

/// `mirror jobs`: what runs for this user.
struct JobsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "jobs",
        abstract: "List the runs and watches of this user.",
        discussion: """
            Every `sync` that fetches, and every `watch`, listens in $XDG_RUNTIME_DIR/mirror. Without \
            such a folder they cannot be found, and not be steered.

            EXAMPLES:
              mirror jobs
              mirror jobs --json
            """)

    @OptionGroup(title: "Output") var output: VerdictOptions

    func run() async throws {
        var jobs: [JobDescription] = []
        // Such as one that Ctrl-Z stopped.
        var silent: [Int32] = []
        for client in ControlClient.all() {
            if case .job(let job) = client.ask(.describe) {
                jobs.append(job)
            } else if client.isSilent {
                silent.append(client.process)
            }
        }
        if output.json {
            var json = JSONWriter()
            json.object { json in
                json.member("v", 1)
                json.key("jobs")
                json.beginArray()
                for job in jobs { json.object { job.writeMembers(to: &$0) } }
                json.endArray()
                json.key("silent")
                json.array { json in for process in silent { json.number(Int64(process)) } }
            }
            json.newline()
            return Console.output.write(bytes: json.take())
        }
        let clock = LocalClock.ofThisProcess(now: .now)
        for job in jobs { Console.output.line(job.sentence(on: clock).printable) }
        for process in silent { Console.output.line("\(process)  does not answer") }
        if jobs.isEmpty, silent.isEmpty, !output.quiet { Console.output.line("Nothing runs.") }
    }
}

extension JobDescription {
    /// One line for people.
    func sentence(on clock: LocalClock) -> String {
        var text = "\(process)  \(verb)  \(root)  "
        switch phase {
        case .running:
            text += isPaused ? "paused" : "running"
            text += " since \(clock.time(of: since)), "
            text +=
                "\(totals.ended) of \(Counted(totals.transfers, "transfer")), \(ByteCount(totals.bytes))"
            if let seconds = totals.secondsLeft, seconds > 0, !isPaused {
                text += ", \(DurationText(seconds: seconds)) left"
            }
        case .sleeping:
            text += until.map { "sleeps until \(clock.description(of: $0))" } ?? "begins or ends"
        }
        return text
    }
}
