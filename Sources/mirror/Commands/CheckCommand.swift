import ArgumentParser
import MirrorKit

/// `mirror check`: validates manifests and touches nothing.
struct CheckCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Validate a manifest.",
        discussion: """
            Names every error with its line, its column and what would be right, and warns of \
            digests that prove little. Where the right text is certain, such as a number without its \
            quotes, it is shown, and --fix writes it: in place, atomically, and nothing else in the file \
            changes.

            EXAMPLES:
              mirror check manifest.json
              mirror check                       every manifest that this root remembers
              mirror check --fix manifest.json   correct what is certain, then check
              mirror check --require-pinned maps.xml && git commit maps.xml
            """)

    @Argument(help: ManifestArguments.help, completion: .file()) var manifests: [String] = []

    @Flag(help: .requirePinned) var requirePinned = false

    @Flag(help: .strictLists) var strict = false

    @Flag(help: "Write the corrections that are certain into the manifest's file.") var fix = false

    @Flag(help: "With --fix: say what would be corrected, and write nothing.") var dryRun = false

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "How a list is read") var lists: ImportOptions
    @OptionGroup(title: "How a manifest's server is talked to") var network: ConnectionOptions
    @OptionGroup(title: "Limits") var time: DeadlineOptions
    @OptionGroup(title: "Output") var output: ListOptions

    func validate() throws {
        if dryRun, !fix {
            throw ValidationError("--dry-run goes with --fix; check writes nothing.")
        }
    }

    func run() async throws {
        time.watchDeadline()
        CommandStage.enter(.readingManifests)
        var failure: Int32 = 0
        var reports: [CheckReport] = []
        for (source, hint) in try await sources() {
            let report = try await report(on: source, hint)
            if !output.json { show(report) }
            reports.append(report)
            failure = max(failure, report.exitCode)
        }
        if output.json { document(reports) }
        if failure != 0 { throw ExitCode(failure) }
    }

    private func report(
        on source: ManifestSource, _ hint: ListHint
    ) async throws -> CheckReport {
        guard fix else {
            return try await CheckReport.make(
                source, hint: hint, requirePinned: requirePinned, strict: strict,
                configuration: network.configuration)
        }
        return try await CheckReport.fix(
            source, isDryRun: dryRun, hint: hint, requirePinned: requirePinned, strict: strict,
            configuration: network.configuration)
    }

    /// Returns the given manifests, or without any, those that the root remembers.
    ///
    /// A root is needed only if no manifest is given.
    private func sources() async throws -> [(ManifestSource, ListHint)] {
        guard manifests.isEmpty else {
            let hint = try lists.hint()
            return try manifests.map { (try ManifestSource(argument: $0), hint) }
        }
        let session = try root.session(network.configuration)
        let hints = try await session.manifests.rememberedHints()
        return try await session.manifests.rememberedSources().map { ($0, hints[$0] ?? ListHint()) }
    }
}

/// The findings of `mirror check` for one manifest.
struct CheckReport {
    /// The manifest as the user named it.
    let label: String
    /// Errors and warnings, in the order of the manifest.
    var diagnostics: [Diagnostic] = []
    /// The number of further errors and warnings.
    var omitted = 0
    /// The error of a manifest that cannot be read, or is refused as a whole; else nil.
    var error: MirrorError?
    /// The corrections that `--fix` made, or would make.
    var fixes: [Replacement] = []
    /// Whether `--fix` was given and could do its work.
    var isFixed = false
    /// Whether the corrections were written.
    var isWritten = false
    /// Whether `--fix` could write corrections: the manifest is a file that was not just corrected.
    var fixesHelp = false
    /// The decoded manifest. `nil` means that it has errors.
    var decoded: DecodedManifest?

    /// Reads a manifest and checks it against the options. Writes nothing.
    static func make(
        _ source: ManifestSource, hint: ListHint, requirePinned: Bool, strict: Bool,
        configuration: Configuration
    ) async throws -> CheckReport {
        var report = CheckReport(label: source.label)
        if case .path = source { report.fixesHelp = true }
        do {
            let decoded = try await source.read(configuration: configuration, hint: hint)
            report.decoded = decoded
            report.diagnostics = decoded.warnings
            report.omitted = decoded.omittedWarnings
            if strict { try ManifestError.refuseGaps(in: [decoded.manifest]) }
            if requirePinned { try decoded.manifest.refuseUnpinned(label: source.label) }
        } catch let refusal as ManifestError {
            report.diagnostics = refusal.diagnostics
            report.omitted = refusal.omitted
            report.error = MirrorError(.manifestInvalid, "The manifest is invalid.")
        } catch let error as MirrorError where error.code != .cancelled {
            report.error = error
        }
        return report
    }

    /// Corrects a manifest's file where the right text is certain, then checks the file.
    ///
    /// After a dry run the file is unchanged, and the check reports its errors as before.
    static func fix(
        _ source: ManifestSource, isDryRun: Bool, hint: ListHint, requirePinned: Bool, strict: Bool,
        configuration: Configuration
    ) async throws -> CheckReport {
        guard case .path(let path) = source else {
            throw MirrorError(
                .usage, "\(source.label.printable): --fix writes into files only. Name a file.")
        }
        var fixes: [Replacement] = []
        var failure: MirrorError?
        do { fixes = try await ManifestFile(path: path).correct(isDryRun: isDryRun) } catch {
            failure = MirrorError(wrapping: error)
        }
        var report = try await make(
            source, hint: hint, requirePinned: requirePinned, strict: strict,
            configuration: configuration)
        report.error = report.error ?? failure
        (report.fixes, report.isFixed, report.fixesHelp) = (fixes, failure == nil, isDryRun)
        report.isWritten = !isDryRun && !fixes.isEmpty
        return report
    }

    /// 0 for a sound manifest, 65 for an invalid one, 66 for one that cannot be read.
    var exitCode: Int32 { error.map { $0.code.exitCode } ?? 0 }
}

extension CheckCommand {
    /// Prints errors and warnings to standard error, and the result to standard output.
    private func show(_ report: CheckReport) {
        if !report.fixes.isEmpty || report.isFixed {
            for fix in report.fixes { Console.output.line(line(for: fix, in: report)) }
            if !output.quiet { Console.output.line(fixed(report)) }
        }
        let form = DiagnosticText.on(.error, color: output.color)
        for diagnostic in report.diagnostics {
            for line in form.lines(for: diagnostic) { Console.error.line(line) }
        }
        if report.omitted > 0 { Console.error.line("and \(report.omitted) more") }
        if let error = report.error {
            if report.diagnostics.isEmpty || error.code != .manifestInvalid {
                Console.error.line("mirror: error: \(error.sentence.printable)")
            }
            let certain = report.diagnostics.count { $0.replacement != nil }
            if certain > 0, report.fixesHelp, !output.quiet {
                Console.error.line(
                    "\(Counted(certain, "correction")) \(Counted.verb(certain, "is", "are")) certain: mirror check --fix \(report.label.printable)"
                )
            }
            return
        }
        guard !output.quiet, let decoded = report.decoded else { return }
        decoded.manifest.showLeftOut()
        let resources = decoded.manifest.resources
        let pinned = resources.count { $0.pin != nil }
        let bytes = resources.reduce(Int64(0)) { $0.addingSaturated($1.size ?? 0) }
        Console.output.line(
            "\(report.label.printable): \(decoded.written), \(Counted(resources.count, "resource")), \(pinned) pinned, \(ByteCount(bytes)) declared."
        )
    }

    private func line(for fix: Replacement, in report: CheckReport) -> String {
        let style = TextStyle(isColored: output.usesColor(on: .output))
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
    private func document(_ reports: [CheckReport]) {
        Console.output.document { json in
            json.array("manifests", reports) { report, json in write(report, to: &json) }
        }
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
            json.objects("diagnostics", report.diagnostics) { diagnostic, json in
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
            json.member("omitted", report.omitted)
            json.array("leftOut", report.decoded?.leftOut ?? []) { entry, json in
                entry.write(to: &json)
            }
            json.array("corrected", report.fixes) { fix, json in write(fix, to: &json) }
            json.member("written", report.isWritten)
        }
    }

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
