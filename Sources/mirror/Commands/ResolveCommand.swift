import ArgumentParser
import MirrorKit

/// `mirror resolve`: ends a conflict.
struct ResolveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve",
        abstract: "End a conflict.",
        discussion: """
            When a file that mirror did not put there has to make room for a new version, it is \
            kept beside it under a conflict name; `mirror status` lists such copies. With --keep \
            mine the copy takes its place back, and counts as edited from then on; with --keep \
            theirs the copy is removed. Where there are several copies, name one of them.

            EXAMPLES:
              mirror resolve Documents/rules.txt --keep mine
              mirror resolve Documents/rules.txt --keep theirs
            """)

    @Argument(
        help: ArgumentHelp(
            "The target, or one of its conflict copies; a path beneath the root.",
            valueName: "target"))
    var target: Target

    @Option(
        help: ArgumentHelp(
            "mine is the file that had to make room, theirs the manifest's version.",
            valueName: "mine|theirs"))
    var keep: ConflictSide

    @Option(help: .wait) var wait: DurationText?

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "Output") var output: ResultOptions

    func run() async throws {
        let session = try root.session()
        let report = try await ConflictResolution(of: target, keeping: keep)
            .carryOut(in: session, waitingSeconds: wait?.seconds ?? 0)
        show(report)
    }
}

extension ResolveCommand {
    /// Prints the report to standard output.
    private func show(_ report: ResolveReport) {
        guard !output.json else {
            return Console.output.json { report.write(to: &$0) }
        }
        guard !output.quiet else { return }
        let target = report.target.path.printable
        Console.output.line("root \(report.root.printable)")
        if let copy = report.restored {
            Console.output.line(
                "\(target) is yours again, from \(copy.copy.path.printable). mirror keeps it while the manifest wants the version that it knows."
            )
        }
        for copy in report.removed {
            Console.output.line("\(copy.copy.path.printable) is removed; \(target) stays as it is.")
        }
    }
}
