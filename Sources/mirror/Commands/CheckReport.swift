import MirrorKit
import MirrorModel

/// The findings of `mirror check` for one manifest.
struct CheckReport {
    /// The manifest as the user named it.
    let label: String
    /// Errors and warnings, in the order of the manifest.
    var diagnostics: [Diagnostic] = []
    /// The number of further errors and warnings.
    var omitted = 0
    /// Why the manifest could not be read, or is refused as a whole.
    var error: MirrorError?
    /// What `--fix` corrected, or would correct.
    var fixes: [Replacement] = []
    /// Whether corrections were asked for.
    var isFixed = false
    /// Whether they were written.
    var isWritten = false
    /// Whether `--fix` could write corrections: the manifest is a file, and was not corrected just now.
    var fixesHelp = false
    /// The decoded manifest, when it is sound.
    var decoded: DecodedManifest?

    /// Reads a manifest and checks it against the options; nothing is written.
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
            if strict { try decoded.refuseGaps(label: source.label) }
            if requirePinned { try decoded.manifest.refuseUnpinned(label: source.label) }
        } catch let refusal as ManifestRefusal {
            report.diagnostics = refusal.diagnostics
            report.omitted = refusal.omitted
            report.error = MirrorError(.manifestInvalid, "The manifest is invalid.")
        } catch let error as MirrorError where error.code != .cancelled {
            report.error = error
        }
        return report
    }

    /// Corrects a manifest's file where that is certain, then checks it.
    ///
    /// After a dry run the file is as it was, and so is what the check says of it.
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
    var exitCode: Int32 { error.map { ExitVerdict.code(for: $0.code) } ?? 0 }
}
