import ArgumentParser
import MirrorKit

/// `mirror manifests`: lists the manifests that this root remembers.
struct ManifestsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manifests",
        abstract: "List the remembered manifests.",
        discussion: """
            A root remembers each manifest that was synced by its name: where it is, and its last \
            good copy, which serves when it is gone. A place inside the root or beside it is kept \
            relative to the root, so that both can move together. The time of the last sync is \
            that of the last one that had something to do.

            EXAMPLES:
              mirror manifests
              mirror manifests --json | jq -r '.manifests[] | select(.found == false) | .name'
            """)

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "Output") var output: ListOptions

    func run() async throws {
        let session = try root.session()
        let manifests = try await session.manifests.remembered()
        show(manifests, root: session.root)
    }
}

/// `mirror forget`: makes the root forget a manifest.
struct ForgetCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Forget a manifest.",
        discussion: """
            Its place and its last good copy are forgotten. Its files are left, and nobody owns \
            them any more; with --delete those go that are as mirror put them there. Files that \
            another manifest owns too stay its own.

            EXAMPLES:
              mirror forget field-maps
              mirror forget field-maps --delete --dry-run
            """)

    @Argument(
        help: ArgumentHelp("The manifest's name, as `mirror manifests` says.", valueName: "name"),
        completion: .names)
    var name: String

    @Flag(help: "Remove its files too, where they are unchanged.") var delete = false

    @Flag(help: "Say what would be done, and do nothing.") var dryRun = false

    @Option(help: .wait) var wait: DurationText?

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "Output") var output: ListOptions

    func run() async throws {
        let session = try root.session()
        let report = try await session.manifests.forget(
            name, deleting: delete, isDryRun: dryRun, waitingSeconds: wait?.seconds ?? 0)
        show(report)
        if !report.failures.isEmpty { throw ExitCode(1) }
    }
}

extension ManifestsCommand {
    /// Prints the manifests: a JSON document for scripts, or two lines a manifest for people.
    private func show(_ manifests: [RememberedManifest], root: String) {
        guard !output.json else {
            return Console.output.document { json in
                json.array("manifests", manifests) { manifest, json in manifest.write(to: &json) }
            }
        }
        let style = TextStyle(isColored: output.usesColor(on: .output))
        let now = Instant.now
        var lines = LineBuffer()
        defer { lines.flush() }
        lines.line("root \(root.printable)")
        for manifest in manifests {
            lines.line("\(manifest.name.printable)  \(manifest.place.printable)")
            if !output.quiet { lines.line(style.faint("  " + facts(manifest, now))) }
        }
        if manifests.isEmpty, !output.quiet { lines.line("No manifest was synced here yet.") }
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
        if !manifest.selection.isAll {
            facts.append("selection: \(manifest.selection.description.printable)")
        }
        facts.append(manifest.syncedAt.map { "last synced \(age($0))" } ?? "not synced yet")
        facts.append(manifest.copiedAt.map { "copy of \(age($0))" } ?? "no copy yet")
        return facts.joined(separator: ", ")
    }
}

extension ForgetCommand {
    /// Prints the report to standard output, and failures to standard error.
    private func show(_ report: ForgetReport) {
        for error in report.failures {
            Console.error.line("mirror: error: \(error.sentence.printable)")
        }
        guard !output.json else {
            return Console.output.json { report.write(to: &$0) }
        }
        let style = TextStyle(isColored: output.usesColor(on: .output))
        var lines = LineBuffer()
        defer { lines.flush() }
        guard !output.quiet else { return }
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
        lines.line(result(report))
    }

    private func result(_ report: ForgetReport) -> String {
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
