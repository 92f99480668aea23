public import MirrorModel

/// One thing that is wrong, or doubtful, in a manifest, and where.
public struct Diagnostic: Sendable, Hashable, CustomStringConvertible {
    /// Whether the manifest can be used in spite of it.
    public enum Severity: String, Sendable, Hashable {
        /// It cannot.
        case error
        /// It can.
        case warning
    }

    /// The manifest as the user named it.
    public let file: String
    /// The line, from 1.
    public let line: Int
    /// The column in the line, in Unicode scalars from 1.
    public let column: Int
    /// Whether it keeps the manifest from being used.
    public let severity: Severity
    /// The offending value, what is wrong with it, and what would be right; without secrets.
    public let message: String
    /// What helps besides a change of the manifest.
    public let remedy: Remedy?

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
    }

    /// `file:line:column: error: message`, as compilers print it.
    public var description: String {
        "\(prefix)\(message)"
    }

    /// What stands before the message: `file:line:column: error: `.
    package var prefix: String {
        "\(file.printable):\(line):\(column): \(severity.rawValue): "
    }
}

/// A manifest that was refused, with everything that is wrong with it, as far as that fits.
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

    /// A line for each error, and how many more there are.
    public var description: String {
        let lines = diagnostics.map(\.description)
        return (lines + (omitted > 0 ? ["and \(omitted) more"] : [])).joined(separator: "\n")
    }
}
