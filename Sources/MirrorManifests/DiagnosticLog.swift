package import MirrorModel

/// A place in a text: line and column from 1, the column in Unicode scalars.
package struct TextPosition: Hashable, Comparable {
    package var line = 1
    package var column = 1

    package init(line: Int = 1, column: Int = 1) { (self.line, self.column) = (line, column) }

    package static func < (left: TextPosition, right: TextPosition) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// The errors and warnings of a manifest, collected while it is read.
///
/// The tokenizer and the builder share it. It keeps a limited number of diagnostics and counts the
/// rest, so that a hostile manifest cannot fill memory or a terminal with its errors.
package final class DiagnosticLog {
    /// How many errors, and how many warnings, are kept.
    package static let limit = 20

    private let file: String
    private var errors: [Diagnostic] = []
    private(set) var warnings: [Diagnostic] = []
    private(set) var errorCount = 0
    private(set) var warningCount = 0

    package init(file: String) { self.file = file }

    /// Forgets everything, because the text is read again.
    func clear() {
        (errors, warnings) = ([], [])
        (errorCount, warningCount) = (0, 0)
    }

    package func error(
        at place: TextPosition, _ message: @autoclosure () -> String, remedy: Remedy? = nil
    ) {
        errorCount += 1
        if errors.count < Self.limit {
            errors.append(diagnostic(.error, place, message(), remedy))
        }
    }

    package func warning(at place: TextPosition, _ message: @autoclosure () -> String) {
        warningCount += 1
        if warnings.count < Self.limit { warnings.append(diagnostic(.warning, place, message())) }
    }

    /// The refusal with the errors; nil if there are none.
    package var refusal: ManifestRefusal? {
        guard errorCount > 0 else { return nil }
        let sorted = errors.sorted { ($0.line, $0.column) < ($1.line, $1.column) }
        return ManifestRefusal(diagnostics: sorted, omitted: errorCount - errors.count)
    }

    private func diagnostic(
        _ severity: Diagnostic.Severity, _ place: TextPosition, _ message: String,
        _ remedy: Remedy? = nil
    ) -> Diagnostic {
        Diagnostic(
            file: file, line: place.line, column: place.column, severity: severity,
            message: message, remedy: remedy)
    }
}

/// Why decoding ended before the end of a manifest.
enum DecodingStop: Error {
    /// The rest of the text cannot be read; the reason is in the log.
    case refused
    /// The manifest's bytes cannot be read from their source.
    case unreadable(MirrorError)
}
