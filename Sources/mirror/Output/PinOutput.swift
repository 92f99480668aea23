import MirrorModel

/// Shows the result of pinning: a JSON document for scripts, or a line per resource for people.
struct PinOutput {
    let options: any OutputChoices
    /// Whether the declarations themselves are asked about.
    var isCheck = false

    /// Prints the report to standard output, and contradictions to standard error.
    func show(_ report: PinReport) {
        for finding in report.contradictions {
            guard case .contradiction(let because) = finding.verdict else { continue }
            Console.error.line(
                "\(report.manifest.printable):\(finding.line): error: \(finding.target.path.printable): \(because)"
            )
        }
        if isCheck {
            for finding in report.undeclared {
                Console.error.line(
                    "\(report.manifest.printable):\(finding.line): error: \(finding.target.path.printable): it declares no size, or no digest that proves its bytes"
                )
            }
        }
        guard !options.json else {
            var json = JSONWriter()
            report.write(to: &json)
            json.newline()
            return Console.output.write(bytes: json.take())
        }
        let style = TextStyle(isColored: options.usesColor(on: .output))
        guard !options.quiet else { return }
        var lines = LineBuffer()
        lines.line("root \(report.root.printable)")
        for finding in report.findings where !isCheck {
            if let line = line(finding, style) { lines.line(line) }
        }
        lines.line(verdict(report))
        lines.flush()
    }

    private func line(_ finding: PinFinding, _ style: TextStyle) -> String? {
        let path = finding.target.path.printable
        switch finding.verdict {
        case .pin:
            let size = finding.size.map { "  \(ByteCount($0))" } ?? ""
            let digest = finding.sha256.map { "sha256 \($0.hex)" } ?? ""
            return style.label("pin", .good) + path + size + style.faint("  (\(digest))")
        case .update:
            let digest = finding.sha256.map { "sha256 \($0.hex) now" } ?? ""
            return style.label("update", .good) + path + style.faint("  (\(digest))")
        case .keep: return options.verbose ? style.label("keep", .neutral) + path : nil
        case .leave(let obstacle):
            return style.label("leave", .warning) + path + style.faint("  (\(obstacle.because))")
        case .contradiction: return nil
        }
    }

    private func verdict(_ report: PinReport) -> String {
        let manifest = report.manifest.printable
        if isCheck {
            let count = report.findings.count
            let wrong = Set(report.undeclared.map(\.target))
                .union(report.contradictions.map(\.target)).count
            return "\(manifest): \(count - wrong) of \(Counted(count, "resource")) pinned."
        }
        guard report.contradictions.isEmpty else {
            return "\(manifest): nothing was written. Run mirror sync, or correct the manifest."
        }
        let count = report.pinned.count
        var text = "\(manifest): \(Counted(count, "resource"))"
        text += report.isDryRun ? " would be pinned" : " pinned"
        if !report.left.isEmpty {
            text +=
                ", \(report.left.count) left as \(Counted.verb(report.left.count, "it is", "they are"))"
        }
        return text + "."
    }
}
