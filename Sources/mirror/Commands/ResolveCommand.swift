import ArgumentParser
import MirrorKit

/// `mirror resolve`: lists conflicts and ends them.
struct ResolveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve",
        abstract: "List and end conflicts.",
        discussion: """
            When a file that mirror did not put there has to make room for a new version, it is \
            kept beside it under a conflict name. Without --keep the conflicts are listed. With \
            --keep mine the copy takes its place back, and counts as edited from then on; with \
            --keep theirs the manifest's version stays. The other file leaves the tree, and is \
            kept below .mirror for 7 days: until then the same command with the other side \
            changes the choice. Where there are several copies, name one of them.

            EXAMPLES:
              mirror resolve
              mirror resolve --diff
              mirror resolve Documents/rules.txt --keep mine
              mirror resolve Documents/rules.txt --keep theirs
            """)

    @Argument(
        help: ArgumentHelp(
            "The target, or one of its conflict copies; a path beneath the root.",
            valueName: "target"))
    var target: Target?

    @Option(
        help: ArgumentHelp(
            "mine is the file that had to make room, theirs the manifest's version.",
            valueName: "mine|theirs"))
    var keep: ConflictSide?

    @Flag(help: "List the lines in which texts differ.") var diff = false

    @Option(help: .wait) var wait: DurationText?

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "Output") var output: ListOptions

    func validate() throws {
        if keep != nil, target == nil {
            throw ValidationError("--keep ends one conflict. Name its target.")
        }
        if diff, keep != nil || output.json {
            let other = keep != nil ? "--keep" : "--json"
            throw ValidationError("--diff shows a list to people, so it does not go with \(other).")
        }
    }

    func run() async throws {
        let session = try root.session()
        guard let target, let keep else {
            return show(try await ConflictList(of: target, comparing: diff).read(in: session))
        }
        let report = try await ConflictResolution(of: target, keeping: keep)
            .carryOut(in: session, waitingSeconds: wait?.seconds ?? 0)
        show(report)
    }
}

extension ResolveCommand {
    /// Prints how a conflict was ended.
    private func show(_ report: ResolveReport) {
        guard !output.json else {
            return Console.output.json { report.write(to: &$0) }
        }
        guard !output.quiet else { return }
        let target = report.target.path.printable
        Console.output.line("root \(report.root.printable)")
        switch (report.kept, report.restored) {
        case (.mine, let copy?):
            Console.output.line(
                "\(target) is yours again, from \(copy.copy.path.printable). mirror keeps it while the manifest wants the version that it knows."
            )
        case (.theirs, .some):
            Console.output.line("\(target) is the manifest's version again.")
        default: break
        }
        let verb = report.setAside.isEmpty ? "is removed" : "is put away"
        for copy in report.removed {
            Console.output.line("\(copy.copy.path.printable) \(verb); \(target) stays as it is.")
        }
        guard !report.setAside.isEmpty else { return }
        Console.output.line(
            "For 7 days mirror resolve \(report.target.path.shellWord) --keep \(report.kept.other.rawValue) changes that."
        )
    }

    /// Prints the conflicts, each with both files.
    private func show(_ report: ConflictReport) {
        guard !output.json else {
            return Console.output.json { report.write(to: &$0) }
        }
        var lines = LineBuffer()
        let style = TextStyle(isColored: output.usesColor(on: .output))
        let clock = LocalClock.ofThisProcess(now: .now)
        if !output.quiet { lines.line("root \(report.root.printable)") }
        for conflict in report.conflicts {
            let target = conflict.target.path.printable
            let facts = { (file: ConflictReport.File) in
                "  \(ByteCount(file.size))"
                    + style.faint("  (changed \(clock.description(of: file.modified)))")
            }
            lines.line(
                style.label("mine", .warning) + conflict.copy.path.path.printable
                    + facts(conflict.copy))
            lines.line(
                style.label("theirs", .warning) + target
                    + (conflict.there.map(facts) ?? "  no file is there"))
            if diff { for line in difference(of: conflict, style) { lines.line(line) } }
        }
        if !output.quiet { lines.line(ResolveCommand.advice(for: report.conflicts)) }
        lines.flush()
    }

    /// Returns the last line of the list: the number of conflicts, and what ends one.
    private static func advice(for conflicts: [ConflictReport.Conflict]) -> String {
        guard let first = conflicts.first else { return "There is no conflict." }
        let name = conflicts.count == 1 ? first.target.path.shellWord : "TARGET"
        return
            "\(Counted(conflicts.count, "conflict")). mirror resolve \(name) --keep mine|theirs ends \(conflicts.count == 1 ? "it" : "one")."
    }

    /// Returns the lines of a difference, from the manifest's version to the copy.
    private func difference(
        of conflict: ConflictReport.Conflict, _ style: TextStyle
    ) -> [String] {
        let indentation = String(repeating: " ", count: 14)
        switch conflict.difference {
        case .lines(let lines, let more):
            let shown = lines.map { line -> String in
                // A tab would be shown by its number.
                let text = line.split(separator: "\t", omittingEmptySubsequences: false)
                    .joined(separator: "    ").printable.clipped(toColumns: 200)
                return switch line.utf8.first {
                case UInt8(ascii: "-"): style.paint(text, .failure)
                case UInt8(ascii: "+"): style.paint(text, .good)
                case UInt8(ascii: "@"): style.paint(text, .neutral)
                default: text
                }
            }
            return shown + (more > 0 ? ["\(indentation)and \(more) more lines"] : [])
        case .same: return [indentation + "both have the same bytes"]
        case .tooLong: return [indentation + "too long to compare"]
        case .noText: return [indentation + "no text"]
        case .unread: return [indentation + "one of them cannot be read"]
        case nil:
            return conflict.there == nil
                ? [] : [indentation + "not compared; mirror resolve TARGET --diff compares one"]
        }
    }
}
