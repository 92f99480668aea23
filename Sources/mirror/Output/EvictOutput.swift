import MirrorKit
import MirrorModel

/// Shows an eviction: a JSON document for scripts, or a line a file for people.
struct EvictOutput {
    let options: any OutputChoices

    /// Prints the report to standard output, and what failed to standard error.
    func show(_ report: EvictionReport) {
        for error in report.failures {
            Console.error.line("mirror: error: \(error.sentence.printable)")
        }
        if options.json { return report.write { Console.output.write(bytes: $0) } }
        let style = TextStyle(isColored: options.usesColor(on: .output))
        let clock = LocalClock.ofThisProcess(now: .now)
        var lines = LineBuffer()
        defer { lines.flush() }
        lines.line("root \(report.root.printable)")
        let eviction = report.eviction
        if !options.quiet {
            for file in eviction.evicted { lines.line(line(file, "evict", style, clock)) }
        }
        for file in eviction.left { lines.line(line(file, "leave", style, clock)) }
        guard !options.quiet || !eviction.isEnough else { return }
        let count = eviction.evicted.count
        let verb = report.isDryRun ? "would be removed" : "removed"
        var text = "\(Counted(count, "file")) \(verb)"
        text += ", \(ByteCount(report.bytesEvicted)); Caches holds"
        text += " \(ByteCount(eviction.bytesAfter)) of \(ByteCount(eviction.quota))."
        if !eviction.isEnough { text += " The rest may not be removed." }
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
