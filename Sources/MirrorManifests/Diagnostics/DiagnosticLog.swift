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
    /// How many errors, and how many warnings, are kept for people.
    package static let limit = 20

    /// A diagnostic, and the correction that the decoder knows.
    struct Entry {
        var diagnostic: Diagnostic
        var correction: Correction?
    }

    private let file: String
    private let limit: Int
    private var errorEntries: [Entry] = []
    private var warningEntries: [Entry] = []
    private(set) var errorCount = 0
    private(set) var warningCount = 0
    /// What the places are in; nil where a text is read in pieces that nobody keeps.
    var text: DiagnosedText?

    package init(file: String, limit: Int = DiagnosticLog.limit) {
        (self.file, self.limit) = (file, limit)
    }

    /// Forgets everything, because the text is read again.
    func clear() {
        (errorEntries, warningEntries) = ([], [])
        (errorCount, warningCount) = (0, 0)
    }

    package func error(
        at place: TextPosition, _ message: @autoclosure () -> String, remedy: Remedy? = nil,
        correction: @autoclosure () -> Correction? = nil
    ) {
        errorCount += 1
        guard errorEntries.count < limit else { return }
        let diagnostic = diagnostic(.error, place, message(), remedy)
        errorEntries.append(Entry(diagnostic: diagnostic, correction: correction()))
    }

    /// Runs a part of the reading and takes back the errors that it logged.
    ///
    /// Returns the message of the first of them; nil where there was none. For an entry of a list,
    /// whose errors leave out the entry and not the list.
    func takingErrorsBack(_ body: () -> Void) -> String? {
        let (count, entries) = (errorCount, errorEntries)
        body()
        guard errorCount > count else { return nil }
        let first = errorEntries.dropFirst(entries.count).first
        (errorCount, errorEntries) = (count, entries)
        return first?.diagnostic.message ?? "it cannot be read"
    }

    package func warning(at place: TextPosition, _ message: @autoclosure () -> String) {
        warningCount += 1
        guard warningEntries.count < limit else { return }
        warningEntries.append(Entry(diagnostic: diagnostic(.warning, place, message(), nil)))
    }

    /// The warnings that were kept, in the order of the text.
    var warnings: [Diagnostic] { finished(warningEntries) }

    /// The refusal with the errors; nil if there are none.
    package var refusal: ManifestRefusal? {
        guard errorCount > 0 else { return nil }
        let sorted = errorEntries.sorted { $0.diagnostic.place < $1.diagnostic.place }
        return ManifestRefusal(
            diagnostics: finished(sorted), omitted: errorCount - errorEntries.count)
    }

    private func finished(_ entries: [Entry]) -> [Diagnostic] {
        text?.complete(entries) ?? entries.map(\.diagnostic)
    }

    private func diagnostic(
        _ severity: Diagnostic.Severity, _ place: TextPosition, _ message: String,
        _ remedy: Remedy?
    ) -> Diagnostic {
        Diagnostic(
            file: file, line: place.line, column: place.column, severity: severity,
            message: message, remedy: remedy)
    }
}

extension Diagnostic {
    /// Where it begins.
    var place: TextPosition { TextPosition(line: line, column: column) }
}

/// Why decoding ended before the end of a manifest.
enum DecodingStop: Error {
    /// The rest of the text cannot be read; the reason is in the log.
    case refused
    /// The manifest's bytes cannot be read from their source.
    case unreadable(MirrorError)
}
