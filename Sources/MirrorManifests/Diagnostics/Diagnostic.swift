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
public struct ManifestRefusal: Error, Sendable, Hashable, CustomStringConvertible {
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
