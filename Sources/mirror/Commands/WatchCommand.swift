import ArgumentParser
import MirrorKit

/// `mirror watch`: syncs whenever a file is due, until a signal ends it.
struct WatchCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Sync whenever something is due.",
        discussion: """
            Syncs at once, then sleeps until the next file is due, a manifest changes, or the time of \
            --every is over. It survives servers and networks that are away, holds the root's lock only \
            while it works, and tells systemd how it goes (Type=notify). SIGHUP reads settings and \
            manifests again and syncs at once; SIGTERM ends it within a second.

            EXAMPLES:
              mirror watch manifest.json
              mirror watch --root /srv/maps --every 15m https://origin.example/maps.json
              mirror watch --window 01:00-06:00  every manifest that this root remembers, at night
            """)

    @Argument(help: ManifestArguments.help, completion: .file()) var manifests: [String] = []

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "How a list is read") var lists: ImportOptions
    @OptionGroup(title: "What") var selection: SelectionOptions
    @OptionGroup(title: "What") var shard: ShardOptions
    @OptionGroup(title: "How servers are talked to") var network: NetworkOptions
    @OptionGroup(title: "When it may run") var when: PermissionOptions
    @OptionGroup(title: "What is kept") var storage: StorageOptions
    @OptionGroup(title: "Limits") var running: RunningOptions
    @OptionGroup(title: "Limits") var removal: RemovalOptions
    @OptionGroup(title: "Operations") var operations: OperationOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    @Option(help: ArgumentHelp("Sync after this time even if nothing is due.", valueName: "time"))
    var every = DurationText(seconds: 3600)

    @Option(
        help: ArgumentHelp(
            "Delay each sync by chance, at most so long, so that devices do not ask all at once.",
            discussion: "Default: a tenth of the wait, 10 minutes at most.", valueName: "time"))
    var jitter: DurationText?

    func validate() throws {
        if every.seconds < 1 { throw ValidationError("--every takes at least 1s.") }
        if manifests.contains("-") {
            throw ValidationError("Standard input can be read once only. Name a file or a URL.")
        }
    }

    /// The option groups as one value.
    var options: SyncOptions {
        SyncOptions(
            manifests: manifests, lists: lists, root: root, selection: selection, shard: shard,
            network: network, when: when, storage: storage, running: running, removal: removal,
            operations: operations, output: output)
    }

    /// The interval that decides when the watch syncs.
    var interval: WatchInterval { WatchInterval(every: every.seconds, jitter: jitter?.seconds) }

    func run() async throws {
        let sleep = try WatchSleep()
        try await WatchLoop(command: self, sleep: sleep).run()
    }
}

/// Syncs and sleeps, again and again.
///
/// Each sync has a session of its own. So the watch holds no lock, no index and no manifest in
/// memory while it sleeps.
final class WatchLoop {
    private var command: WatchCommand
    private let sleep: WatchSleep
    private let service = ServiceManager()
    private let responder: ControlResponder
    private var state = WatchState()
    private var hasSynced = false

    init(command: WatchCommand, sleep: WatchSleep) throws {
        self.command = command
        self.sleep = sleep
        responder = ControlResponder(
            verb: "watch", root: try command.options.makeSession().root,
            wake: { [sleep] in sleep.request() })
    }

    /// Runs until a signal ends the watch, then throws `ExitCode`.
    ///
    /// A failure of the first sync ends the watch at once if no later sync can repair it. Such
    /// failures are wrong options, an invalid manifest and an unusable root.
    func run() async throws {
        // The action must be set before READY, because systemd may then ask for a reload.
        Interruption.setHangUp { [sleep] in sleep.request() }
        service?.tell(.ready)
        defer {
            service?.tell(.stopping)
            responder.close()
        }
        while true {
            let heart = beat()
            let result = await sync()
            heart?.cancel()
            if let code = Interruption.exitCode { throw ExitCode(code) }
            if !hasSynced, result.isFinal { throw ExitCode(result.exit) }
            hasSynced = true
            try await rest(after: result)
        }
    }

    /// Sends systemd signs of life during a sync. Returns nil if systemd expects none.
    ///
    /// They come from Swift's runtime, which also does the sync. So they stop if the runtime hangs.
    private func beat() -> Task<Void, Never>? {
        guard let service, let interval = service.watchdogInterval else { return nil }
        return Task {
            while !Task.isCancelled {
                service.tell(.alive)
                try? await Task.sleep(for: .milliseconds(interval))
            }
        }
    }
}

// MARK: Syncing

extension WatchLoop {
    private func sync() async -> SyncEnd {
        MirrorCommand.restartTime()
        LiveDisplay.shared.resume()
        service?.tell(.status("Syncing."))
        var end = SyncEnd()
        do {
            let exit = try await work(&end)
            state.enter(exit: exit, into: &end)
        } catch let code as ExitCode {
            state.enter(exit: code.rawValue, into: &end)
        } catch {
            let failure = CommandError(error)
            Console.error.line(failure.text)
            // An error that may pass, such as a server that is away, does not end the watch.
            state.enter(exit: failure.exitCode, mayPass: failure.error.isRetryable, into: &end)
        }
        return end
    }

    /// Syncs once, and sets the values that decide when the next sync comes.
    ///
    /// Returns the exit code.
    private func work(_ end: inout SyncEnd) async throws -> Int32 {
        let options = command.options
        var output = RunOutput(options: options.output)
        do {
            output.operations = try await output.operations(
                of: options.operations, root: options.root, needsLog: !hasSynced)
        } catch {
            // A file that an option names cannot be used, so the option is wrong. A later sync
            // cannot repair this.
            end.isFinal = true
            throw error
        }
        output.responder = responder
        Interruption.setHangUp { [sleep, operations = output.operations] in
            operations?.reopenLogSoon()
            sleep.request()
        }
        var exit: Int32 = 0
        try await output.reportingFailure(opening: options.makeSession) { [output] session in
            let manifests = try await load(in: session)
            do {
                try await options.sync(
                    manifests, in: session, showing: output, isAnnounced: hasSynced)
            } catch let code as ExitCode { exit = code.rawValue }
            end = try await state.end(
                of: manifests, in: session, permission: command.options.when.permission)
        }
        return exit
    }

    private func load(in session: MirrorSession) async throws -> [Manifest] {
        var arguments = try command.options.arguments()
        arguments.saysSelection = !hasSynced
        var sources = try arguments.sources()
        if sources.isEmpty { sources = try await session.manifests.rememberedSources() }
        // A change after this moment ends the next sleep.
        sleep.watch(sources)
        let now = Instant.now
        let fresh = state.freshSources(among: sources, at: now)
        let loaded = try await arguments.load(sources, fresh: fresh, in: session)
        state.note(loaded, of: sources, at: now)
        return loaded.manifests
    }
}

// MARK: Sleeping

extension WatchLoop {
    /// Sleeps until the next sync.
    private func rest(after end: SyncEnd) async throws {
        let now = Instant.now
        let next = command.interval.next(after: end, at: now) { Int64.random(in: 0...max(0, $0)) }
        CommandStage.enter(.resting)
        tell(next, now)
        responder.rest(until: next.at)
        responder.open()
        let wake = try await sleep.sleep(
            until: next.at, atMost: longestSleep, wakesForNetwork: end.failures > 0,
            heartbeat: service.flatMap { service in
                service.watchdogInterval.map { ($0, { service.tell(.alive) }) }
            })
        switch wake {
        case .cancelled: throw ExitCode(Interruption.exitCode ?? 130)
        case .requested: reload()
        case .manifestChanged, .clockSet, .networkReturned, .time: break
        }
    }

    /// The longest sleep in seconds: the `--every` interval and its delay.
    ///
    /// A sync comes after this time even if the wall clock was changed.
    private var longestSleep: Int64 {
        command.every.seconds.addingSaturated(command.jitter?.seconds ?? command.every.seconds / 10)
    }

    private func tell(_ next: NextSync, _ now: Instant) {
        let sentence = next.sentence(on: .ofThisProcess(now: now))
        service?.tell(.status(sentence))
        let output = command.options.output
        if !output.json, !output.quiet { Console.output.line(sentence.printable) }
    }

    /// Reads the settings and the options again, as SIGHUP asks.
    ///
    /// If the new ones are wrong, the old ones stay in force.
    private func reload() {
        service?.tell(.reloading)
        defer { service?.tell(.ready) }
        state.forgetFreshness()
        do {
            let words = CommandLine.words() ?? []
            let parsed = try MirrorCommand.parseAsRoot(EffectiveWords.effective(words))
            if let command = parsed as? WatchCommand { self.command = command }
        } catch {
            Console.error.line(
                "mirror: note: the settings were not read again: \(CommandError(error).error.message)"
            )
        }
    }
}
