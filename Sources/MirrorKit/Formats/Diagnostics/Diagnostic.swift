/// An error in a manifest, or a warning about a manifest, with its place.
public struct Diagnostic: Sendable, Hashable, CustomStringConvertible {
    /// Whether the manifest can be used in spite of the diagnostic.
    package enum Severity: String, Sendable, Hashable {
        /// The manifest cannot be used.
        case error
        /// The manifest can be used.
        case warning
    }

    /// The manifest as the user named it.
    public let file: String
    /// The line, from 1.
    public let line: Int
    /// The column in the line, in Unicode scalars from 1.
    public let column: Int
    /// Whether the diagnostic prevents the use of the manifest.
    package let severity: Severity
    /// The wrong value, what is wrong with it, and the right form; without secrets.
    public let message: String
    /// A remedy other than a change of the manifest. `nil` means that there is none.
    public let remedy: Remedy?
    /// The column behind the marked text, in Unicode scalars from 1.
    ///
    /// If the marked text is unknown, this is `column`.
    public package(set) var endColumn: Int
    /// The lines around the place. `nil` means that the text is not at hand.
    package var excerpt: Excerpt?
    /// The change that corrects the text beyond doubt. `nil` means that no change is certain.
    package var replacement: Replacement?

    /// Takes a place and a message.
    init(
        file: String, line: Int, column: Int, severity: Severity, message: String,
        remedy: Remedy? = nil
    ) {
        self.file = file
        self.line = line
        self.column = column
        self.severity = severity
        self.message = message
        self.remedy = remedy
        endColumn = column
    }

    /// `file:line:column: error: message`, as compilers print it.
    public var description: String {
        "\(prefix)\(message)"
    }

    /// The text before the message: `file:line:column: error: `.
    package var prefix: String {
        "\(file.printable):\(line):\(column): \(severity.rawValue): "
    }
}

/// The errors of a manifest that cannot be used, up to a limit.
public struct ManifestError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The errors in the order of the manifest, at most 20 of them.
    public let diagnostics: [Diagnostic]
    /// How many more errors there are.
    public let omitted: Int

    /// Takes the errors of a manifest.
    init(diagnostics: [Diagnostic], omitted: Int) {
        self.diagnostics = diagnostics
        self.omitted = omitted
    }

    /// Makes an error about one place of a file, which need not be a manifest.
    init(file: String, at place: TextPosition, _ message: String) {
        self.init(
            diagnostics: [
                Diagnostic(
                    file: file, line: place.line, column: place.column, severity: .error,
                    message: message)
            ], omitted: 0)
    }

    /// The diagnostics as lines, and the number of further errors.
    public var description: String {
        let lines = diagnostics.map(\.description)
        return (lines + (omitted > 0 ? ["and \(omitted) more"] : [])).joined(separator: "\n")
    }
}

/// Lines of a manifest around the place of a diagnostic, as values to print.
///
/// The lines may contain secrets: values of headers, bodies and unknown keys, queries and passwords
/// of URLs. So these texts are left out. All other text is as the manifest has it, so the caller
/// escapes it before printing.
package struct Excerpt: Sendable, Hashable {
    /// A line, or the part of a long line around the place.
    package struct Line: Sendable, Hashable {
        /// The number of the line, from 1.
        package let number: Int
        /// The text of the line, without its line end.
        package let text: String
        /// Whether the line has more text before `text`.
        package let isCutBefore: Bool
        /// Whether the line has more text behind `text`.
        package let isCutAfter: Bool
    }

    /// At most three lines, in their order.
    package let lines: [Line]
    /// The position in `lines` of the line that has the place.
    package let marked: Int
    /// The marked text, as a range of Unicode scalars in the text of the marked line.
    ///
    /// The range is empty at the end of a line.
    package let mark: Range<Int>
}

/// A change of a manifest's text that is right beyond doubt.
package struct Replacement: Sendable, Hashable {
    /// The line, from 1.
    package let line: Int
    /// The column at which the change begins, in Unicode scalars from 1.
    package let column: Int
    /// The column behind the old text. For an addition, this is `column`.
    package let endColumn: Int
    /// The old text; empty for an addition.
    package let old: String
    /// The new text; empty for a removal.
    package let new: String
    /// The line after the change; the mark is on the new text.
    package let corrected: Excerpt
}

/// A place in a text: line and column from 1, the column in Unicode scalars.
package struct TextPosition: Hashable, Comparable {
    var line = 1
    var column = 1

    package static func < (left: TextPosition, right: TextPosition) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// The errors and warnings of a manifest, collected while the manifest is read.
///
/// The tokenizer and the builder share one log. The log keeps a limited number of diagnostics and
/// counts the rest. So a hostile manifest cannot fill memory or a terminal with its errors.
final class DiagnosticLog {
    /// The most errors, and the most warnings, that a log keeps for people.
    static let limit = 20

    /// A diagnostic, with the correction if the decoder knows one.
    typealias Entry = (diagnostic: Diagnostic, correction: Correction?)

    private let file: String
    private let limit: Int
    private var errorEntries: [Entry] = []
    private var warningEntries: [Entry] = []
    private(set) var errorCount = 0
    private(set) var warningCount = 0
    /// The text that the places refer to.
    ///
    /// `nil` means that the text is read in pieces that are not kept.
    var text: DiagnosedText?

    init(file: String, limit: Int = DiagnosticLog.limit) {
        (self.file, self.limit) = (file, limit)
    }

    /// Removes all entries, because the text is read again.
    func clear() {
        (errorEntries, warningEntries) = ([], [])
        (errorCount, warningCount) = (0, 0)
    }

    func error(
        at place: TextPosition, _ message: @autoclosure () -> String, remedy: Remedy? = nil,
        correction: @autoclosure () -> Correction? = nil
    ) {
        errorCount += 1
        guard errorEntries.count < limit else { return }
        let diagnostic = diagnostic(.error, place, message(), remedy)
        errorEntries.append((diagnostic, correction()))
    }

    /// Runs `body`, and removes the errors that it logged from the log.
    ///
    /// Returns the message of the first of these errors. Returns nil if there was no error. A
    /// reader of a list calls this for each entry, so that an error leaves out the entry, not the
    /// list.
    func takingErrorsBack(_ body: () -> Void) -> String? {
        let (count, entries) = (errorCount, errorEntries)
        body()
        guard errorCount > count else { return nil }
        let first = errorEntries.dropFirst(entries.count).first
        (errorCount, errorEntries) = (count, entries)
        return first?.diagnostic.message ?? "it cannot be read"
    }

    func warning(at place: TextPosition, _ message: @autoclosure () -> String) {
        warningCount += 1
        guard warningEntries.count < limit else { return }
        warningEntries.append((diagnostic(.warning, place, message(), nil), nil))
    }

    /// The warnings that were kept, in the order of the text.
    var warnings: [Diagnostic] { finished(warningEntries) }

    /// An error value with all logged errors. `nil` means that the log has no error.
    var refusal: ManifestError? {
        guard errorCount > 0 else { return nil }
        let sorted = errorEntries.sorted { $0.diagnostic.place < $1.diagnostic.place }
        return ManifestError(
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
    /// The place at which the diagnostic begins.
    var place: TextPosition { TextPosition(line: line, column: column) }
}

/// Why decoding ended before the end of a manifest.
enum DecodingStop: Error {
    /// The rest of the text cannot be read; the reason is in the log.
    case refused
    /// The manifest's bytes cannot be read from their source.
    case unreadable(MirrorError)
}
