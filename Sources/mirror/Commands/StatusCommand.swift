import ArgumentParser
import MirrorKit
import Synchronization

/// `mirror status`: shows each file's state, freshness and proof, and what needs attention.
struct StatusCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Say what is there, and how sure.",
        discussion: """
            Looks at the index and at the files' times and sizes; asks no server. A file is read only \
            if its time or inode is new and its size is not, as in a copied root, until a sync has read \
            it; `mirror verify` reads every file. A manifest with a URL is the copy of its last sync. \
            A file that had to make room for a new version is listed as a conflict, until \
            `mirror resolve` ends it. With --due, --only or --skip, the totals are those of the \
            selected files, and each of them has a line.

            EXAMPLES:
              mirror status
              mirror status -v                   every file: until when it is fresh, how sure mirror is
              mirror status --due --only 'Caches/**'
              mirror status --have > have.txt    the sha256 of each file that is here and as it should be
              mirror status --json | jq -r '.files[] | select(.state != "intact") | .path'
            """)

    @Argument(help: ManifestArguments.help, completion: .file()) var manifests: [String] = []

    @Flag(help: "Only files that the next sync asks about.") var due = false

    @Flag(help: "Print only the sha256 of each file that is as mirror put it there, one a line.")
    var have = false

    @Option(help: .only, completion: .tags) var only: [String] = []

    @Option(help: .skip, completion: .tags) var skip: [String] = []

    @OptionGroup var root: RootOptions
    @OptionGroup var shard: ShardOptions
    @OptionGroup(title: "How a list is read") var lists: ImportOptions
    @OptionGroup var network: NoNetworkOptions
    @OptionGroup(title: "Output") var output: DetailOptions

    func validate() throws {
        if have, due { throw ValidationError("--have and --due exclude each other.") }
    }

    func run() async throws {
        var configuration = Configuration()
        try shard.apply(to: &configuration)
        let session = try root.session(configuration)
        let manifests = try await ManifestArguments(locations: manifests, lists: lists)
            .look(in: session)
        if have { return try await printDigests(of: manifests, in: session) }
        let runs = try await session.history.runs(limit: 100)
        let isSelection = due || !only.isEmpty || !skip.isEmpty
        let status = Mutex(
            StatusOutput(
                options: output, session: session, runs: runs,
                troubles: try await session.history.troubles(of: runs),
                paused: try session.pausedTargets(), isSelection: isSelection))
        let due = due
        let selects = { @Sendable (file: StoredFile) in
            guard due else { return true }
            return if case .due = file.freshness { true } else { false }
        }
        CommandStage.enter(.lookingAtTree)
        status.withLock { $0.begin() }
        try await session.forEachFile(of: manifests, only: Set(only), skip: Set(skip)) { file in
            if selects(file) { status.withLock { $0.count(file) } }
        }
        LiveDisplay.shared.end()
        guard status.withLock({ $0.conclude() }) else { return }
        // The first walk has read the files in doubt.
        try await session.forEachFile(
            of: manifests, only: Set(only), skip: Set(skip), readsDoubtful: false
        ) { file in
            if selects(file) { status.withLock { $0.list(file) } }
        }
        status.withLock { $0.flush() }
    }
}

extension StatusCommand {
    /// Prints the digests of the files that are intact, each once, in order.
    private func printDigests(of manifests: [Manifest], in session: MirrorSession) async throws {
        CommandStage.enter(.lookingAtTree)
        let found = Mutex<Set<Digest>>([])
        try await session.forEachFile(of: manifests, only: Set(only), skip: Set(skip)) { file in
            guard file.state == .intact, let sha256 = file.sha256 else { return }
            found.withLock { _ = $0.insert(sha256) }
        }
        LiveDisplay.shared.end()
        let digests = found.withLock { $0.map(\.hex).sorted() }
        if output.json {
            var json = JSONWriter()
            json.object { json in
                json.member("v", 1)
                json.member("root", session.root)
                json.member("have", digests)
            }
            json.newline()
            return Console.output.write(bytes: json.take())
        }
        var lines = LineBuffer()
        for digest in digests { lines.line(digest) }
        lines.flush()
    }
}

/// Shows what is in the tree.
///
/// Scripts get a JSON document with each file. People get the totals and what needs attention, and
/// with `-v` a line for each file.
private struct StatusOutput {
    private var dashboard: TreeTotals
    private var json = JSONWriter()
    private var lines = LineBuffer()
    /// The lines about files, kept until the totals are known.
    ///
    /// `nil` means that there were too many lines.
    private var list: [UInt8]? = []
    /// The files whose bytes are not those that mirror put there.
    private var changed: Set<Target> = []

    /// The most bytes of lines that are kept until the totals are known.
    private static let mostKept = 4 << 20

    private let options: any OutputChoices
    /// A copy, because reading the parser's own value a million times takes long.
    private let isJSON: Bool
    private let root: String
    private let shard: String?
    private let runs: [PastRun]
    /// The files that failed in the last run, or that it left stale.
    private let troubles: [Target: Outcome]
    private let style: TextStyle
    private let now: Instant
    private let clock: LocalClock

    /// Whether only some files are counted.
    private let isSelection: Bool
    /// Whether each file that is counted has a line.
    private let lists: Bool

    /// Makes an output to which nothing has been printed.
    ///
    /// `runs` are the last runs, newest first. `troubles` are the files that failed in the last of
    /// them, or that it left stale. `paused` are the targets that no run fetches.
    init(
        options: any OutputChoices, session: MirrorSession, runs: [PastRun],
        troubles: [Target: Outcome],
        paused: PausedTargets, isSelection: Bool
    ) {
        self.options = options
        dashboard = TreeTotals(paused: paused)
        isJSON = options.json
        (root, shard) = (session.root, session.shardName)
        self.runs = runs
        self.troubles = troubles
        self.isSelection = isSelection
        lists = !options.json && !options.quiet && (options.verbose || isSelection)
        now = Instant.now
        clock = .ofThisProcess(now: now)
        style = TextStyle(isColored: options.usesColor(on: .output))
    }

    /// Begins the document, or the report.
    mutating func begin() {
        guard options.json else { return lines.line(TextReport.title(root: root, shard: shard)) }
        json.beginObject()
        json.member("v", 1)
        json.member("root", root)
        if let shard { json.member("shard", shard) }
        json.key("files")
        json.beginArray()
    }

    /// Counts a file, and writes it to the document.
    mutating func count(_ file: StoredFile) {
        dashboard.add(file, ended: troubles[file.target])
        if lists {
            keep(line(file))
            if file.state == .changed { changed.insert(file.target) }
        }
        guard isJSON else { return }
        file.write(to: &json)
        if json.bytes.count > 64 << 10 { Console.output.write(bytes: json.take()) }
    }

    private mutating func keep(_ line: String) {
        guard let count = list?.count else { return }
        if count > StatusOutput.mostKept { return list = nil }
        list?.append(contentsOf: line.utf8)
        list?.append(UInt8(ascii: "\n"))
    }

    /// Prints the totals, what needs attention, and the lines about files, and ends the document.
    ///
    /// Returns true if the lines were too many to be kept, so that the caller must list the files.
    mutating func conclude() -> Bool {
        if options.json {
            endDocument()
            return false
        }
        if !options.quiet {
            let isEmpty = dashboard.counts.isEmpty
            lines.line(
                isEmpty
                    ? isSelection ? "No file is selected." : "Nothing is here yet."
                    : dashboard.line(good: runs.lastGood, last: counted, clock: clock))
            if let last = lastEnded, last.summary?.exit != 0 { lines.line(failure(of: last)) }
            if dashboard.paused.all { lines.line(TreeTotals.allPaused) }
        }
        for group in dashboard.attention {
            lines.line(group.heading)
            for target in group.targets { lines.line("  " + target.path.printable) }
            if group.more > 0 { lines.line("  and \(group.more) more (-v lists all)") }
        }
        lines.flush()
        if let list, !list.isEmpty { Console.output.write(bytes: list) }
        return list == nil
    }

    /// Prints a line for a file that was counted, and that was not read a second time.
    mutating func list(_ file: StoredFile) {
        var file = file
        if file.state == .changed, !changed.contains(file.target) { file.state = .intact }
        lines.line(line(file))
    }

    /// Prints the lines that are still in the buffer.
    mutating func flush() { lines.flush() }

    /// The last run that ended, if all files are counted. `nil` for a selection of files.
    private var counted: PastRun? { isSelection ? nil : lastEnded }
    private var lastEnded: PastRun? { runs.lastEnded }

    private func failure(of run: PastRun) -> String {
        let count = run.summary?[.failed] ?? 0
        let failed = count > 0 ? ", \(count) failed" : ""
        let shard = run.summary?.shard.map { " of shard \($0)" } ?? ""
        return "The last run\(shard) ended with exit \(run.summary?.exit ?? 0)\(failed) "
            + "(\(clock.description(of: run.startedAt))); mirror history and mirror why say more."
    }

    private mutating func endDocument() {
        json.endArray()
        json.key("totals")
        let (dashboard, stale, good) = (dashboard, dashboard.stale(counted), runs.lastGood)
        json.object { json in
            dashboard.writeMembers(to: &json)
            json.member("stale", stale)
            json.member("lastGoodRun", good?.startedAt.rfc3339)
        }
        json.endObject()
        json.newline()
        Console.output.write(bytes: json.take())
    }

    private func line(_ file: StoredFile) -> String {
        let meaning: TextStyle.Meaning =
            switch file.state {
            case .intact: .good
            case .evicted: .neutral
            case .changed, .untracked, .conflict: .warning
            case .missing, .obstructed: .failure
            }
        var text = style.label(file.state.rawValue, meaning) + file.target.path.printable
        if let size = file.size { text += "  \(ByteCount(size))" }
        var remarks: [String] = []
        if let target = file.conflictOf {
            remarks.append("made room for \(target.path.printable); mirror resolve ends that")
        }
        switch file.verified {
        case .digest: remarks.append("verified by digest")
        case .size: remarks.append("verified by size only")
        case .some(.none): remarks.append("not verified")
        case nil: break
        }
        if file.isOrphan { remarks.append("no manifest wants it") }
        if troubles[file.target] == .failed { remarks.append("failed in the last run") }
        if troubles[file.target] == .noRoom { remarks.append("no room in the last run") }
        if troubles[file.target] == .stale { remarks.append("stale") }
        if dashboard.paused.contains(file.target) { remarks.append("paused") }
        if let confirmed = file.confirmedAt {
            remarks.append("confirmed \(clock.description(of: confirmed))")
        }
        switch file.freshness {
        case .due: remarks.append("due")
        case .fresh(let until?): remarks.append("fresh until \(clock.description(of: until))")
        case .fresh(nil), nil: break
        }
        if file.partBytes > 0 { remarks.append("\(ByteCount(file.partBytes)) of it fetched") }
        return remarks.isEmpty ? text : text + style.faint("  (\(remarks.joined(separator: ", ")))")
    }
}

// The words of `mirror status` for the totals, and for the files that need attention.

extension TreeTotals {
    /// Returns the line of totals.
    ///
    /// `good` is the last run that ended well. `last` is the last run that ended.
    func line(good: PastRun?, last: PastRun?, clock: LocalClock) -> String {
        var text = "\(Counted(files, "file")), \(ByteCount(bytes)): "
        text += facts(last: last).joined(separator: ", ") + "."
        if let good { text += " Last good run: \(clock.description(of: good.startedAt))." }
        return text
    }

    /// Returns what `status` says about the files, each fact with its number.
    func facts(last: PastRun?) -> [String] {
        var facts = ["\(due) due"]
        let stale = stale(last)
        if stale > 0 { facts.append("\(stale) stale") }
        for (state, word) in [
            (StoredFile.State.changed, "edited"), (.missing, "missing"),
            (.evicted, "evicted"), (.untracked, "not mirror's"), (.obstructed, "obstructed"),
        ] {
            if let count = counts[state], count > 0 { facts.append("\(count) \(word)") }
        }
        if let count = counts[.conflict] { facts.append("\(Counted(count, "conflict"))") }
        if orphans > 0 { facts.append("\(Counted(orphans, "orphan"))") }
        if parts > 0 { facts.append("\(Counted(parts, "part")) (\(ByteCount(partBytes)))") }
        return facts
    }

    /// What is said where every target is paused.
    static let allPaused = "Everything is paused: no sync fetches a file until mirror resume."

    /// Returns how many files are stale.
    ///
    /// A run without a log has reported the number of its stale files, but not their names.
    func stale(_ last: PastRun?) -> Int {
        max(last?.summary?[.stale] ?? 0, groups[.stale]?.count ?? 0)
    }

    /// A heading and a list for each reason why files need attention.
    var attention: [(heading: String, targets: [Target], more: Int)] {
        Attention.allCases.compactMap { attention in
            groups[attention].map { (attention.heading($0.count), $0.targets, $0.more) }
        }
    }
}

extension TreeTotals.Attention {
    /// Returns the heading of a group: the number of files, their state, and what helps.
    func heading(_ count: Int) -> String {
        switch self {
        case .failed: "\(count) failed in the last run; mirror why TARGET says what was tried"
        case .noRoom: "\(count) without room on the disk; mirror why TARGET says what is missing"
        case .stale:
            "\(count) stale: the last run could not confirm them; mirror why TARGET says why"
        case .conflict:
            "\(Counted(count, "conflict copy", plural: "conflict copies")), "
                + "until mirror resolve ends the conflict"
        case .obstructed: "\(count) obstructed: something that is no file is in the way"
        case .changed: "\(count) edited: changed since mirror put them there"
        case .untracked:
            "\(count) that mirror did not put there; sync adopts those with the right bytes"
        case .missing: "\(count) missing; mirror sync fetches them"
        case .paused: "\(count) paused; mirror resume lets \(count == 1 ? "it" : "them") come"
        case .orphan:
            "\(Counted(count, "orphan")) that no manifest wants; mirror prune removes them"
        }
    }
}
