import ArgumentParser
import MirrorKit

/// `mirror schedule`: makes systemd or cron start syncs.
struct ScheduleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule",
        abstract: "Let systemd or cron start syncs.",
        discussion: """
            Prints the units of systemd, or a line for a crontab, that start `mirror sync`; with \
            --install they are put in their places and started. The same root and manifests have the \
            same name, so scheduling them again replaces what is there.

            EXAMPLES:
              mirror schedule manifest.json --every 6h
              mirror schedule manifest.json --every 6h --install
              mirror schedule manifest.json --every 1d --cron --install
              mirror schedule list
              mirror schedule remove manifest.json
            """,
        subcommands: [
            ScheduleAddCommand.self, ScheduleListCommand.self, ScheduleRemoveCommand.self,
        ],
        defaultSubcommand: ScheduleAddCommand.self)
}

/// `mirror schedule MANIFEST…`: the default verb of `schedule`.
struct ScheduleAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Print or install a schedule.",
        discussion: """
            EXAMPLES:
              mirror schedule add --root /srv/maps maps.json --every 15m --jitter 2m
              mirror schedule add maps.json --every 1d --system --wait-online --install
            """)

    @Argument(help: ManifestArguments.help, completion: .file()) var manifests: [String] = []

    @OptionGroup var root: RootOptions

    @Option(help: .only, completion: .tags) var only: [String] = []

    @Option(help: .skip, completion: .tags) var skip: [String] = []

    @Option(help: .platform) var platform: String?

    @Option(help: .python) var python: String?

    @Option(help: ArgumentHelp("How often, a minute at least.", valueName: "time"))
    var every: DurationText

    @Option(
        help: ArgumentHelp(
            "The greatest delay by chance.", discussion: "Default: a tenth of --every, 1h at most.",
            valueName: "time"))
    var jitter: DurationText?

    @Flag(help: "For the machine, instead of this user.") var system = false

    @Flag(help: "A line for this user's crontab, instead of systemd's units.") var cron = false

    @Flag(help: "Wait half a minute for the network before each sync.") var waitOnline = false

    @Flag(help: "Put it in its place and start it.") var install = false

    func validate() throws {
        if SchedulePeriod(seconds: every.seconds) == nil {
            throw ValidationError("--every takes at least 1m. `mirror watch` syncs sooner.")
        }
        if let jitter, jitter.seconds > every.seconds {
            throw ValidationError("--jitter is longer than --every.")
        }
        if cron, system || waitOnline || jitter != nil {
            throw ValidationError("--system, --wait-online and --jitter are for systemd's units.")
        }
        if manifests.contains("-") {
            throw ValidationError("Standard input is gone by then. Name a file or a URL.")
        }
    }

    func run() async throws {
        _ = try WheelTarget(platform: platform, python: python)
        let session = try MirrorSession(root: root.root)
        let sources = try manifests.map { try ManifestSource(argument: $0) }
        for case .url(let url) in sources where url.credentials != nil {
            throw MirrorError(
                .usage,
                "\(url): a schedule would show the password to everybody who can read it. Put it into ~/.netrc: mirror settings set netrc true"
            )
        }
        let (schedule, offset) = ScheduleBook.schedule(
            root: session.root, manifests: sources,
            every: every.seconds, manager: cron ? .cron : system ? .system : .user)
        guard
            var units = ScheduleUnits(
                schedule, words: words(for: schedule), jitter: jitter?.seconds)
        else { return }
        try waitForNetwork(&units)
        if cron { return try addLines(units, offset) }
        try addUnits(units)
        if schedule.manager == .user, let note = ScheduleBook.lingerNote() {
            Console.error.line("mirror: note: \(note)")
        }
    }

    /// Returns the words of the sync that a schedule starts.
    ///
    /// cron mails what the sync prints, so with cron the sync is quiet.
    private func words(for schedule: Schedule) -> [String] {
        var words = [ScheduleBook.program, "sync", "--root", schedule.root, "--wait", "10m"]
        words.append(cron ? "--quiet" : "--no-progress")
        words += only.flatMap { ["--only", $0] } + skip.flatMap { ["--skip", $0] }
        if let platform { words += ["--platform", platform] }
        if let python { words += ["--python", python] }
        return words + schedule.manifests
    }

    private func waitForNetwork(_ units: inout ScheduleUnits) throws {
        units.needsNetwork = waitOnline
        guard waitOnline, !system else { return }
        guard let waiter = ScheduleBook.networkWaiter else {
            throw MirrorError(
                .usage,
                "Nothing here waits for the network: there is neither nm-online nor systemd-networkd-wait-online. Leave --wait-online out; a sync tries again by itself."
            )
        }
        units.waiter = waiter
    }

    private func addUnits(_ units: ScheduleUnits) throws {
        guard let service = units.service else { throw ScheduleAddCommand.controlCharacter }
        let book = ScheduleBook()
        if install {
            try book.install(units.schedule, service: service, timer: units.timer)
            return Console.output.line("installed \(units.schedule.name)")
        }
        for (path, text) in zip(book.paths(of: units.schedule), [service, units.timer]) {
            Console.output.line("# \(path.printable)\n\(text)")
        }
    }

    private func addLines(_ units: ScheduleUnits, _ offset: UInt64) throws {
        guard let lines = units.cron(offset: offset) else {
            let period = SchedulePeriod(seconds: every.seconds)
            guard period?.cron(offset: offset) == nil, let nearest = period?.nearest else {
                throw ScheduleAddCommand.controlCharacter
            }
            throw MirrorError(
                .usage,
                "cron cannot start something every \(every). The nearest that it can is --every \(nearest.spelling); systemd's timers can do both."
            )
        }
        if install {
            try ScheduleBook().install(units.schedule, cron: lines)
            return Console.output.line("installed \(units.schedule.name)")
        }
        for line in lines { Console.output.line(line) }
    }

    private static let controlCharacter = MirrorError(
        .usage,
        "A path or URL has a line break or another control character, which a schedule cannot hold."
    )
}

/// `mirror schedule list`.
struct ScheduleListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the schedules of this user and of the machine.",
        discussion: """
            EXAMPLES:
              mirror schedule list
              mirror schedule list --json
            """)

    @OptionGroup(title: "Output") var output: ResultOptions

    func run() async throws {
        let book = ScheduleBook()
        let (schedules, problem) = book.all()
        if let problem { Console.error.line("mirror: note: \(problem.printable)") }
        if output.json {
            return Console.output.document { json in
                json.objects("schedules", schedules) { schedule, json in
                    schedule.writeMembers(to: &json)
                    json.member("path", book.paths(of: schedule).last)
                }
            }
        }
        for schedule in schedules {
            let every = DurationText(seconds: schedule.every)
            let words = [schedule.name, schedule.manager.rawValue, "every \(every)", schedule.root]
            Console.output.line((words + schedule.manifests).joined(separator: "  ").printable)
        }
        if schedules.isEmpty, !output.quiet { Console.output.line("Nothing is scheduled.") }
    }
}

/// `mirror schedule remove`.
struct ScheduleRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove schedules, by name or by manifest.",
        discussion: """
            Removes only what `mirror schedule --install` made.

            EXAMPLES:
              mirror schedule remove manifest.json
              mirror schedule remove mirror-maps-1a2b3c4d
            """)

    @Argument(help: ArgumentHelp("Names as listed, or manifests.", valueName: "name|manifest"))
    var names: [String]

    func run() async throws {
        let book = ScheduleBook()
        let (schedules, problem) = book.all()
        for name in names {
            let found = schedules.filter { ScheduleBook.isMeant($0, by: name) }
            guard !found.isEmpty else {
                if let problem { throw MirrorError(.inputOutput, problem) }
                throw MirrorError(
                    .usage,
                    "\(name.printable): no schedule has this name or manifest. `mirror schedule list` lists them."
                )
            }
            for schedule in found {
                try book.remove(schedule)
                Console.output.line("removed \(schedule.name)")
            }
        }
    }
}
