import ArgumentParser
import MirrorKit

/// `mirror evict`: shrinks Caches to a quota.
struct EvictCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "evict",
        abstract: "Shrink Caches to a quota.",
        discussion: """
            Only files of Caches that mirror put there are removed, and only while they are \
            unchanged; Documents is never touched. A later sync fetches what is wanted again. A \
            file was last used when it was promoted or read, whichever is later; most file systems \
            note reads to the day only. Exits 1 when what may not be removed is more than the quota.

            EXAMPLES:
              mirror evict --quota 2GiB --dry-run
              mirror evict --quota 2GiB --max-delete 50%
              mirror evict --quota 0 --max-delete 100%      empty Caches
            """)

    @Option(
        help: ArgumentHelp(
            "What mirror's files in Caches may take up, e.g. 500MiB.", valueName: "size"))
    var quota: ByteCount

    @Option(
        help: ArgumentHelp(
            "How many files may be removed, a number or a percentage.",
            discussion: "Default: half of the files in Caches where mirror has more than 10 there.",
            valueName: "n|p%"))
    var maxDelete: DeleteLimit?

    @Flag(help: "Say what would be removed, and do nothing.") var dryRun = false

    @Option(help: .wait) var wait: DurationText?

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "Output") var output: ListOptions

    func run() async throws {
        let session = try root.session()
        let eviction = CacheEviction(
            toQuota: quota.bytes, limit: maxDelete ?? .whenOmitted)
        let report = try await report(on: eviction, in: session)
        show(report)
        if !report.isEnough || !report.failures.isEmpty { throw ExitCode(1) }
    }

    private func report(
        on eviction: CacheEviction, in session: MirrorSession
    ) async throws -> EvictionReport {
        if dryRun {
            CommandStage.enter(.lookingAtTree)
            return try await eviction.preview(in: session)
        }
        CommandStage.enter(.waitingForLock)
        return try await session.withLock(waitingSeconds: wait?.seconds ?? 0) {
            CommandStage.enter(.lookingAtTree)
            return try await eviction.carryOut(in: session)
        }
    }
}

extension EvictCommand {
    /// Prints the report to standard output, and failures to standard error.
    private func show(_ report: EvictionReport) {
        for error in report.failures {
            Console.error.line("mirror: error: \(error.sentence.printable)")
        }
        if output.json { return report.write { Console.output.write(bytes: $0) } }
        let style = TextStyle(isColored: output.usesColor(on: .output))
        let clock = LocalClock.ofThisProcess(now: .now)
        var lines = LineBuffer()
        defer { lines.flush() }
        lines.line("root \(report.root.printable)")
        if !output.quiet {
            for file in report.evicted { lines.line(line(file, "evict", style, clock)) }
        }
        for file in report.left { lines.line(line(file, "leave", style, clock)) }
        guard !output.quiet || !report.isEnough else { return }
        let count = report.evicted.count
        let verb = report.isDryRun ? "would be removed" : "removed"
        var text = "\(Counted(count, "file")) \(verb)"
        text += ", \(ByteCount(report.bytesEvicted)); Caches holds"
        text += " \(ByteCount(report.bytesAfter)) of \(ByteCount(report.quota))."
        if !report.isEnough { text += " The rest may not be removed." }
        lines.line(text)
    }

    private func line(
        _ file: CachedFile, _ step: String, _ style: TextStyle, _ clock: LocalClock
    ) -> String {
        let remark =
            switch file.state {
            case .idle:
                "last used \(clock.description(of: file.lastUsed))"
            case .changed: "changed since mirror put it there"
            case .inUse: "being read"
            }
        return style.label(step, file.state == .idle ? .good : .warning)
            + file.target.path.printable + "  \(ByteCount(file.stamp.size))"
            + style.faint("  (\(remark))")
    }
}
