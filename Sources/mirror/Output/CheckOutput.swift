import MirrorKit
import MirrorModel

/// Shows what `mirror check` found: a JSON document for scripts, or lines as compilers print them.
struct CheckOutput {
    let options: any OutputChoices

    /// Prints errors and warnings to standard error, and the verdict to standard output.
    func show(_ report: CheckReport) {
        for diagnostic in report.diagnostics { Console.error.line(diagnostic.printed) }
        if report.omitted > 0 { Console.error.line("and \(report.omitted) more") }
        if let error = report.error {
            if report.diagnostics.isEmpty || error.code != .manifestInvalid {
                Console.error.line("mirror: error: \(error.sentence.printable)")
            }
            return
        }
        guard !options.quiet, let decoded = report.decoded else { return }
        let resources = decoded.manifest.resources
        let pinned = resources.count { $0.pin != nil }
        let bytes = resources.reduce(Int64(0)) { $0.addingSaturated($1.size ?? 0) }
        Console.output.line(
            "\(report.label.printable): \(decoded.written), \(Counted(resources.count, "resource")), \(pinned) pinned, \(ByteCount(bytes)) declared."
        )
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
                        json.member("message", diagnostic.sentence)
                    }
                }
            }
            json.member("omitted", report.omitted)
        }
    }
}

extension DecodedManifest {
    /// The notation of a manifest, or the format of a list.
    fileprivate var written: String { notation?.rawValue ?? list?.rawValue ?? "" }
}
