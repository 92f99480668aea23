import ArgumentParser
import MirrorKit
import MirrorModel

/// `mirror watch`: keeps the tree right for as long as it runs.
struct WatchCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Sync whenever something is due, until it is told to end.",
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

    @Argument(help: ManifestArguments.help, completion: .file())
    var manifests: [String] = []

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "How a list is read") var lists: ImportOptions
    @OptionGroup(title: "What") var selection: SelectionOptions
    @OptionGroup(title: "How servers are talked to") var network: NetworkOptions
    @OptionGroup(title: "When it may run") var when: PermissionOptions
    @OptionGroup(title: "What is kept") var storage: StorageOptions
    @OptionGroup(title: "Limits") var running: RunningOptions
    @OptionGroup(title: "Limits") var removal: RemovalOptions
    @OptionGroup(title: "Operations") var operations: OperationOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    @Option(
        name: .long,
        help: ArgumentHelp("Sync after this time even if nothing is due.", valueName: "time"))
    var every = DurationText(seconds: 3600)

    @Option(
        name: .long,
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
            manifests: manifests, lists: lists, root: root, selection: selection, network: network,
            when: when, storage: storage, running: running, removal: removal,
            operations: operations, output: output)
    }

    /// When it syncs.
    var rhythm: SyncRhythm { SyncRhythm(every: every.seconds, jitter: jitter?.seconds) }

    func run() async throws {
        let sleep = try WatchSleep()
        try await WatchLoop(command: self, sleep: sleep).run()
    }
}
