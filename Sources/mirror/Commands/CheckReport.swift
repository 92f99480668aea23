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
    /// The decoded manifest, when it is sound.
    var decoded: DecodedManifest?

    /// Reads a manifest and checks it against the options; nothing is written.
    static func make(
        _ source: ManifestSource, hint: ListHint, requirePinned: Bool,
        configuration: Configuration
    ) async throws -> CheckReport {
        var report = CheckReport(label: source.label)
        do {
            let decoded = try await MirrorSession.read(
                source, configuration: configuration, hint: hint)
            report.decoded = decoded
            report.diagnostics = decoded.warnings
            report.omitted = decoded.omittedWarnings
            if requirePinned { try decoded.manifest.refuseUnpinned(label: source.label) }
        } catch let refusal as ManifestRefusal {
            report.diagnostics = refusal.diagnostics
            report.omitted = refusal.omitted
            report.error = MirrorError(.manifestInvalid, "The manifest is invalid.")
        } catch let error as MirrorError {
            report.error = error
        }
        return report
    }

    /// 0 for a sound manifest, 65 for an invalid one, 66 for one that cannot be read.
    var exitCode: Int32 { error.map { ExitVerdict.code(for: $0.code) } ?? 0 }
}
