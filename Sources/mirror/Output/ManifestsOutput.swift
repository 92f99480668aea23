import MirrorKit
import MirrorModel

/// Shows what a root remembers: a JSON document for scripts, or two lines a manifest for people.
struct ManifestsOutput {
    let options: any OutputChoices
    let root: String

    /// Prints the manifests to standard output.
    func show(_ manifests: [RememberedManifest]) {
        guard !options.json else {
            var json = JSONWriter()
            json.object { json in
                json.member("v", 1)
                json.key("manifests")
                json.array { json in
                    for manifest in manifests { manifest.write(to: &json) }
                }
            }
            json.newline()
            return Console.output.write(bytes: json.take())
        }
        let style = TextStyle(isColored: options.usesColor(on: .output))
        let now = Instant.now
        var lines = LineBuffer()
        defer { lines.flush() }
        lines.line("root \(root.printable)")
        for manifest in manifests {
            lines.line("\(manifest.name.printable)  \(manifest.place.printable)")
            if !options.quiet { lines.line(style.faint("  " + facts(manifest, now))) }
        }
        if manifests.isEmpty, !options.quiet { lines.line("No manifest was synced here yet.") }
    }

    private func facts(_ manifest: RememberedManifest, _ now: Instant) -> String {
        let age = { (instant: Instant) in
            "\(DurationText(seconds: now.seconds(since: instant))) ago"
        }
        var facts: [String] = []
        if manifest.isThere == false { facts.append("not there now") }
        if let count = manifest.resources {
            facts.append(Counted(count, "resource").description)
        }
        facts.append(manifest.syncedAt.map { "last synced \(age($0))" } ?? "not synced yet")
        facts.append(manifest.copiedAt.map { "copy of \(age($0))" } ?? "no copy yet")
        return facts.joined(separator: ", ")
    }
}

/// Shows what forgetting a manifest did: a JSON document for scripts, or a line a file for people.
struct ForgetOutput {
    let options: any OutputChoices

    /// Prints the report to standard output, and what failed to standard error.
    func show(_ report: ForgetReport) {
        for error in report.failures {
            Console.error.line("mirror: error: \(error.sentence.printable)")
        }
        guard !options.json else {
            var json = JSONWriter()
            report.write(to: &json)
            json.newline()
            return Console.output.write(bytes: json.take())
        }
        let style = TextStyle(isColored: options.usesColor(on: .output))
        var lines = LineBuffer()
        defer { lines.flush() }
        guard !options.quiet else { return }
        lines.line("root \(report.root.printable)")
        for file in report.removed {
            lines.line(
                style.label("remove", .warning) + file.target.path.printable
                    + "  \(ByteCount(file.size))")
        }
        for target in report.changed {
            lines.line(
                style.label("leave", .warning) + target.path.printable
                    + style.faint("  (changed since mirror put it there)"))
        }
        lines.line(verdict(report))
    }

    private func verdict(_ report: ForgetReport) -> String {
        let name = report.name.printable
        guard report.failures.isEmpty else {
            return "\(name) is still remembered, because not all of its files could be removed."
        }
        let verb = report.isDryRun ? "would be" : "is"
        var text = "\(name) \(verb) forgotten"
        var parts: [String] = []
        if !report.removed.isEmpty {
            parts.append(
                "\(files(report.removed.count)) removed (\(ByteCount(report.bytesRemoved)))")
        }
        let left = report.left.count + report.changed.count
        if left > 0 { parts.append("\(files(left)) left, which nobody owns now") }
        if report.shared > 0 { parts.append("\(files(report.shared)) of other manifests kept") }
        if !parts.isEmpty { text += ": " + parts.joined(separator: ", ") }
        return text + "."
    }

    private func files(_ count: Int) -> String { Counted(count, "file").description }
}

/// Shows how a conflict ended: a JSON document for scripts, or a sentence for people.
struct ResolveOutput {
    let options: any OutputChoices

    /// Prints the report to standard output.
    func show(_ report: ResolveReport) {
        guard !options.json else {
            var json = JSONWriter()
            report.write(to: &json)
            json.newline()
            return Console.output.write(bytes: json.take())
        }
        guard !options.quiet else { return }
        let target = report.ending.target.path.printable
        Console.output.line("root \(report.root.printable)")
        if let copy = report.ending.restored {
            Console.output.line(
                "\(target) is yours again, from \(copy.copy.path.printable). mirror keeps it while the manifest wants the version that it knows."
            )
        }
        for copy in report.ending.removed {
            Console.output.line("\(copy.copy.path.printable) is removed; \(target) stays as it is.")
        }
    }
}
