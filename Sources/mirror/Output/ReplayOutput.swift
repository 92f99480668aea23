import MirrorModel

/// Shows recorded decisions that were made again: a JSON document for scripts, or lines for people.
struct ReplayOutput {
    let options: any OutputChoices

    /// Prints each decision; where this mirror decides otherwise, both.
    func show(_ report: ReplayReport) {
        guard !options.json else {
            var json = JSONWriter()
            report.write(to: &json)
            json.newline()
            return Console.output.write(bytes: json.take())
        }
        let style = TextStyle(isColored: options.usesColor(on: .output))
        var lines = LineBuffer()
        defer { lines.flush() }
        for entry in report.entries where !options.quiet || !entry.isSame {
            lines.line(
                style.label(
                    entry.isSame ? "same" : "differs", entry.isSame ? .good : .failure)
                    + entry.target.path.printable + style.faint("  (\(entry.at.rfc3339))"))
            if entry.isSame {
                lines.line("  " + text(entry.now))
            } else {
                lines.line("  recorded: " + text(entry.recorded))
                lines.line("  now:      " + text(entry.now))
            }
        }
        guard !options.quiet else { return }
        let (all, differences) = (report.entries.count, report.differences.count)
        let verdict =
            differences == 0
            ? "all as recorded" : "\(differences) \(Counted.verb(differences, "differs", "differ"))"
        lines.line("\(Counted(all, "decision")) made again: \(verdict).")
    }

    private func text(_ words: DecisionWords) -> String {
        let means = words.means == "nothing" ? "" : " (\(words.means))"
        return "\(words.step)\(means), because: \(words.because) [\(words.reason)]".printable
    }
}
