import MirrorKit
import MirrorModel

/// Shows an eviction: a JSON document for scripts, or a line a file for people.
struct EvictOutput {
    let options: OutputOptions

    /// Prints the report to standard output, and what failed to standard error.
    func show(_ report: EvictionReport) {
        for error in report.failures {
            Console.error.line("mirror: error: \(error.message.printable)")
        }
        guard !options.json else {
            var json = JSONWriter()
            report.write(to: &json)
            json.newline()
            return Console.output.write(bytes: json.take())
        }
        let style = TextStyle(isColored: options.usesColor(on: .output))
        let now = MirrorSession.clock()
        Console.output.line("root \(report.root.printable)")
        let eviction = report.eviction
        if !options.quiet {
            for file in eviction.evicted { Console.output.line(line(file, "evict", style, now)) }
        }
        for file in eviction.left { Console.output.line(line(file, "leave", style, now)) }
        guard !options.quiet || !eviction.isEnough else { return }
        let count = eviction.evicted.count
        let verb = report.isDryRun ? "would be removed" : "removed"
        var text = "\(count) \(count == 1 ? "file" : "files") \(verb)"
        text += ", \(ByteCount(report.bytesEvicted)); Caches holds"
        text += " \(ByteCount(eviction.bytesAfter)) of \(ByteCount(eviction.quota))."
        if !eviction.isEnough { text += " The rest may not be removed." }
        Console.output.line(text)
    }

    private func line(
        _ file: CachedFile, _ step: String, _ style: TextStyle, _ now: Instant
    ) -> String {
        let remark =
            switch file.standing {
            case .idle:
                "last used \(DurationText(seconds: now.seconds(since: file.lastUsed))) ago"
            case .changed: "changed since mirror put it there"
            case .inUse: "being read"
            }
        return style.label(step, file.standing == .idle ? .good : .warning)
            + file.target.path.printable + "  \(ByteCount(file.stamp.size))"
            + style.faint("  (\(remark))")
    }
}
