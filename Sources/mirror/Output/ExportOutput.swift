import MirrorKit
import MirrorModel

/// What an export holds, told to people or as JSON.
struct ExportOutput {
    let options: VerdictOptions

    func show(_ report: ExportReport) {
        if options.json { return Console.output.write(bytes: report.json) }
        guard !options.quiet else { return }
        for omission in report.omissions {
            Console.error.line("mirror: note: left out: \(omission.sentence)")
        }
        guard let output = report.output else { return }
        var words =
            "\(output.printable): \(report.format.title), \(Counted(report.files, "file"))"
        if report.bytes > 0 { words += ", \(ByteCount(report.bytes))" }
        if report.passed > 0 { words += "; \(report.passed) of other kinds passed over" }
        Console.output.line(words + ".")
    }
}
