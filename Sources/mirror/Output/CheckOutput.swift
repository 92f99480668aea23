import MirrorKit
import MirrorModel

/// Shows what `mirror check` found: a JSON document for scripts, or lines as compilers print them.
struct CheckOutput {
    let options: any OutputChoices

    /// Prints errors and warnings to standard error, and the verdict to standard output.
    func show(_ report: CheckReport) {
        if !report.fixes.isEmpty || report.isFixed {
            for fix in report.fixes { Console.output.line(line(for: fix, in: report)) }
            if !options.quiet { Console.output.line(fixed(report)) }
        }
        let form = DiagnosticText.on(.error, color: options.color)
        for diagnostic in report.diagnostics {
            for line in form.lines(for: diagnostic) { Console.error.line(line) }
        }
        if report.omitted > 0 { Console.error.line("and \(report.omitted) more") }
        if let error = report.error {
            if report.diagnostics.isEmpty || error.code != .manifestInvalid {
                Console.error.line("mirror: error: \(error.sentence.printable)")
            }
            let certain = report.diagnostics.count { $0.replacement != nil }
            if certain > 0, report.fixesHelp, !options.quiet {
                Console.error.line(
                    "\(Counted(certain, "correction")) \(Counted.verb(certain, "is", "are")) certain: mirror check --fix \(report.label.printable)"
                )
            }
            return
        }
        guard !options.quiet, let decoded = report.decoded else { return }
        decoded.showLeftOut(label: report.label)
        let resources = decoded.manifest.resources
        let pinned = resources.count { $0.pin != nil }
        let bytes = resources.reduce(Int64(0)) { $0.addingSaturated($1.size ?? 0) }
        Console.output.line(
            "\(report.label.printable): \(decoded.written), \(Counted(resources.count, "resource")), \(pinned) pinned, \(ByteCount(bytes)) declared."
        )
    }

    private func line(for fix: Replacement, in report: CheckReport) -> String {
        let style = TextStyle(isColored: options.usesColor(on: .output))
        let place = "\(report.label.printable):\(fix.line):\(fix.column)"
        let change =
            switch (fix.old.isEmpty, fix.new.isEmpty) {
            case (true, _): "\(Escaped(fix.new, limit: 80)) added"
            case (_, true): "\(Escaped(fix.old, limit: 80)) removed"
            default: "\(Escaped(fix.old, limit: 80)) is now \(Escaped(fix.new, limit: 80))"
            }
        return style.label(report.isWritten ? "corrected" : "would correct", .good)
            + "\(place)  \(change)"
    }

    private func fixed(_ report: CheckReport) -> String {
        let count = report.fixes.count
        let label = report.label.printable
        if count == 0 { return "\(label): nothing in it can be corrected with certainty." }
        let verb = report.isWritten ? "made" : "would be made; nothing was written"
        return "\(label): \(Counted(count, "correction")) \(verb)."
    }

    /// Prints all reports as one document.
    func document(_ reports: [CheckReport]) {
        var json = JSONWriter()
        json.object { json in
            json.member("v", 1)
            json.key("manifests")
            json.array { json in
                for report in reports { write(report, to: &json) }
            }
        }
        json.newline()
        Console.output.write(bytes: json.take())
    }

    private func write(_ report: CheckReport, to json: inout JSONWriter) {
        json.object { json in
            json.member("manifest", report.label)
            json.member("valid", report.error == nil)
            json.member("exit", report.exitCode)
            json.member("notation", report.decoded?.written)
            json.member("name", report.decoded?.manifest.name)
            json.member("resources", report.decoded?.manifest.resources.count)
            json.member("error", report.error?.sentence)
            json.key("diagnostics")
            json.array { json in
                for diagnostic in report.diagnostics {
                    json.object { json in
                        json.member("severity", diagnostic.severity.rawValue)
                        json.member("file", diagnostic.file)
                        json.member("line", diagnostic.line)
                        json.member("column", diagnostic.column)
                        json.member("endColumn", diagnostic.endColumn)
                        json.member("message", diagnostic.sentence)
                        json.key("excerpt")
                        write(diagnostic.excerpt, to: &json)
                        json.key("correction")
                        write(diagnostic.replacement, to: &json)
                    }
                }
            }
            json.member("omitted", report.omitted)
            json.key("leftOut")
            json.array { json in
                for entry in report.decoded?.leftOut ?? [] { entry.write(to: &json) }
            }
            json.key("corrected")
            json.array { json in
                for fix in report.fixes { write(fix, to: &json) }
            }
            json.member("written", report.isWritten)
        }
    }
}

extension CheckOutput {
    private func write(_ excerpt: Excerpt?, to json: inout JSONWriter) {
        guard let excerpt else { return json.null() }
        json.array { json in
            for (number, line) in excerpt.lines.enumerated() {
                json.object { json in
                    json.member("line", line.number)
                    json.member("text", line.text)
                    json.member("isCut", line.isCutBefore || line.isCutAfter)
                    guard number == excerpt.marked else { return }
                    json.member("from", excerpt.mark.lowerBound)
                    json.member("to", excerpt.mark.upperBound)
                }
            }
        }
    }

    private func write(_ replacement: Replacement?, to json: inout JSONWriter) {
        guard let replacement else { return json.null() }
        json.object { json in
            json.member("line", replacement.line)
            json.member("column", replacement.column)
            json.member("endColumn", replacement.endColumn)
            json.member("old", replacement.old)
            json.member("new", replacement.new)
        }
    }
}

extension DecodedManifest {
    /// The notation of a manifest, or the format of a list.
    fileprivate var written: String { notation?.rawValue ?? list?.rawValue ?? "" }
}
