/// What an event must say: some of its fields, e.g. `path=Caches/a.bin bytesReused>=1000`.
struct EventPattern: Sendable {
    private struct Field: Sendable {
        let name: String
        let comparison: String
        let value: String
    }

    /// The event's name.
    let event: String
    /// The pattern as it was written.
    let text: String
    private let fields: [Field]

    /// Reads an event's name and fields; `=` equal, `>=` and `<=` numbers, `~` contains.
    init(_ text: String, _ node: Outline) throws(ScenarioFlaw) {
        var words = Words.split(text)
        guard !words.isEmpty else { throw node.flaw("expected an event's name") }
        event = words.removeFirst()
        self.text = text
        var fields: [Field] = []
        for word in words {
            guard
                let comparison = [">=", "<=", "~", "="].first(where: { word.contains($0) }),
                let range = word.range(of: comparison)
            else { throw node.flaw("\(word) is no field=value") }
            fields.append(
                Field(
                    name: String(word[..<range.lowerBound]), comparison: comparison,
                    value: String(word[range.upperBound...])))
        }
        self.fields = fields
    }

    /// Whether an event has the name and all the fields.
    func matches(_ value: JSONValue) -> Bool {
        value["event"]?.word == event && hasFields(value)
    }

    /// Whether an object has all the fields.
    func hasFields(_ value: JSONValue) -> Bool {
        fields.allSatisfy { field in
            guard let actual = value[field.name]?.word else {
                return field.value == "null" && field.comparison == "="
            }
            switch field.comparison {
            case "=": return actual == field.value
            case "~": return actual.contains(field.value)
            case ">=": return (Double(actual) ?? -.infinity) >= (Double(field.value) ?? .infinity)
            default: return (Double(actual) ?? .infinity) <= (Double(field.value) ?? -.infinity)
            }
        }
    }
}

extension String {
    /// The first place where another text stands in this one.
    package func range(of other: String) -> Range<Index>? {
        guard !other.isEmpty else { return nil }
        return indices.first { self[$0...].hasPrefix(other) }
            .map { $0..<index($0, offsetBy: other.count) }
    }
}
