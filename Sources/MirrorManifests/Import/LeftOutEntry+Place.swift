package import MirrorModel

extension LeftOutEntry {
    init(_ name: String, _ reason: String, at place: TextPosition) {
        self.init(name, reason, line: place.line, column: place.column)
    }
}

extension ManifestRefusal {
    /// The refusal of a list for the entries that are left out of it.
    package init(leftOut: [LeftOutEntry], of label: String) {
        let shown = leftOut.prefix(DiagnosticLog.limit).map { entry in
            Diagnostic(
                file: label, line: entry.line, column: entry.column, severity: .error,
                message: "\(Quoted(entry.name, limit: 80)): \(entry.reason)")
        }
        self.init(diagnostics: Array(shown), omitted: leftOut.count - shown.count)
    }
}
