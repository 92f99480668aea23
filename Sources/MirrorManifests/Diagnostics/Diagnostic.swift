public import MirrorModel

/// An error in a manifest, or a doubt about it, with its place.
public struct Diagnostic: Sendable, Hashable, CustomStringConvertible {
    /// Whether the manifest can be used in spite of the diagnostic.
    public enum Severity: String, Sendable, Hashable {
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
    public let severity: Severity
    /// The offending value, its flaw, and the right form; without secrets.
    public let message: String
    /// A remedy other than a change of the manifest.
    public let remedy: Remedy?
    /// The column behind what is meant, in Unicode scalars from 1; the column itself if unknown.
    public package(set) var endColumn: Int
    /// The lines that the place is in; nil where the text is not at hand.
    public package(set) var excerpt: Excerpt?
    /// The change of the text that is right beyond doubt; nil where there is none.
    public package(set) var replacement: Replacement?

    /// Takes a place and a message.
    package init(
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

/// The refusal of a manifest, with all its errors up to a limit.
public struct ManifestError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The errors in the order of the manifest, at most `DiagnosticLog.limit` of them.
    public let diagnostics: [Diagnostic]
    /// How many more errors there are.
    public let omitted: Int

    /// Takes the errors of a manifest.
    package init(diagnostics: [Diagnostic], omitted: Int) {
        self.diagnostics = diagnostics
        self.omitted = omitted
    }

    /// A refusal with one error, about another file than a manifest perhaps.
    package init(file: String, at place: TextPosition, _ message: String) {
        self.init(
            diagnostics: [
                Diagnostic(
                    file: file, line: place.line, column: place.column, severity: .error,
                    message: message)
            ], omitted: 0)
    }

    /// A line for each error, and the number of further errors.
    public var description: String {
        let lines = diagnostics.map(\.description)
        return (lines + (omitted > 0 ? ["and \(omitted) more"] : [])).joined(separator: "\n")
    }
}

/// Lines of a manifest around the place of a diagnostic, as values to print.
///
/// Values of headers, bodies and unknown keys, queries and passwords of URLs are left out of the
/// lines, because they may be secrets. All other text is as the manifest has it, so the caller
/// escapes it before printing.
public struct Excerpt: Sendable, Hashable {
    /// A line, or the part of a long one around the place.
    public struct Line: Sendable, Hashable {
        /// Its number, from 1.
        public let number: Int
        /// Its text, without the line's end.
        public let text: String
        /// Whether the line has text before this.
        public let isCutBefore: Bool
        /// Whether the line has text behind this.
        public let isCutAfter: Bool
    }

    /// At most three lines, in their order.
    public let lines: [Line]
    /// The position in `lines` of the line that has the place.
    public let marked: Int
    /// What is meant, in Unicode scalars of that line's text; empty at the end of a line.
    public let mark: Range<Int>
}

/// A change of a manifest's text that is right beyond doubt.
public struct Replacement: Sendable, Hashable {
    /// The line, from 1.
    public let line: Int
    /// The column at which it begins, in Unicode scalars from 1.
    public let column: Int
    /// The column behind what is replaced; the column itself for an addition.
    public let endColumn: Int
    /// What is replaced; empty for an addition.
    public let old: String
    /// What takes its place; empty for a removal.
    public let new: String
    /// The line as it will be; the mark is on the new text.
    public let corrected: Excerpt
}

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
    typealias Entry = (diagnostic: Diagnostic, correction: Correction?)

    private let file: String
    private let limit: Int
    private var errorEntries: [Entry] = []
    private var warningEntries: [Entry] = []
    private(set) var errorCount = 0
    private(set) var warningCount = 0
    /// What the places are in; nil if the text is read in pieces that are not kept.
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
        errorEntries.append((diagnostic, correction()))
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
        warningEntries.append((diagnostic(.warning, place, message(), nil), nil))
    }

    /// The warnings that were kept, in the order of the text.
    var warnings: [Diagnostic] { finished(warningEntries) }

    /// The refusal with the errors; nil if there are none.
    package var refusal: ManifestError? {
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
