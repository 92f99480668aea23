package import MirrorModel

/// What was left out of a list of several documents, as a note in the manifest that is kept of it.
package enum LeftOutNote {
    private static let key = "x-left-out"

    /// Puts the note in front of the other keys of a manifest's text in JSON.
    package static func add(_ leftOut: [LeftOutEntry], to text: inout [UInt8]) {
        guard !leftOut.isEmpty, text.first == UInt8(ascii: "{") else { return }
        var json = JSONWriter()
        json.object { json in
            json.key("x-left-out")
            json.array { json in
                for entry in leftOut { entry.write(to: &json) }
            }
        }
        text = json.take().dropLast() + [UInt8(ascii: ",")] + text.dropFirst()
    }

    /// The entries in the note of a text; empty if its first key is no such note.
    package static func read(descriptor: Int32) -> [LeftOutEntry] {
        let log = DiagnosticLog(file: "")
        do throws(DecodingStop) {
            var tokens = try JSONTokenizer(ManifestBytes(descriptor: descriptor), log: log)
            guard case .beginObject = try tokens.next(), case .key = try tokens.next(),
                tokens.string == key
            else { return [] }
            let note = try JSONTree(try tokens.next(), &tokens)
            return note.elements.compactMap { entry in
                guard let name = entry["name"]?.string, let reason = entry["reason"]?.string else {
                    return nil
                }
                let number = { (key: String) in Int(entry[key]?.number?.value ?? "") ?? 0 }
                return LeftOutEntry(name, reason, line: number("line"), column: number("column"))
            }
        } catch { return [] }
    }
}

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
