import MirrorModel

/// Shows the result of verification: a JSON document for scripts, or a line per difference for
/// people.
struct VerifyOutput {
    let options: any OutputChoices

    /// Prints the report to standard output.
    func show(_ report: VerifyReport) {
        guard !options.json else {
            var json = JSONWriter()
            report.write(to: &json)
            json.newline()
            return Console.output.write(bytes: json.take())
        }
        let style = TextStyle(isColored: options.usesColor(on: .output))
        var lines = LineBuffer()
        defer { lines.flush() }
        lines.line("root \(report.root.printable)")
        for difference in report.discrepancies {
            var text = style.label(difference.kind.rawValue, .failure)
            text += difference.target.path.printable
            if let expected = difference.expected, let actual = difference.actual {
                text += "  \(actual.algorithm.rawValue) is \(actual.hex), expected \(expected.hex)"
            }
            lines.line(text)
        }
        guard !options.quiet else { return }
        for conflict in report.conflicts {
            lines.line(
                style.label("conflict", .warning) + conflict.copy.path.printable
                    + style.faint("  (made room for \(conflict.target.path.printable))"))
        }
        let count = report.discrepancies.count
        let verdict =
            count == 0 ? "all as expected" : Counted(count, "difference").description
        lines.line(
            "\(Counted(report.files, "file")) read, \(ByteCount(report.bytes)): \(verdict).\(evicted(report))\(conflicts(report))"
        )
    }

    private func evicted(_ report: VerifyReport) -> String {
        report.evicted == 0 ? "" : " \(Counted(report.evicted, "file")) left out for lack of room."
    }

    private func conflicts(_ report: VerifyReport) -> String {
        let count = report.conflicts.count
        if count == 0 { return "" }
        return count == 1
            ? " 1 conflict copy waits for mirror resolve."
            : " \(count) conflict copies wait for mirror resolve."
    }
}
