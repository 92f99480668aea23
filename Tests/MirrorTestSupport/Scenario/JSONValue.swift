internal import FoundationEssentials

/// A JSON value, read for comparison with what a test expects.
public enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Reads one document; nil when it is not JSON.
    public init?(_ text: some StringProtocol) {
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) else {
            return nil
        }
        self = value
    }

    /// The value of a key; nil for anything but an object that has it.
    public subscript(_ key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }

    /// The elements of an array; none of anything else.
    public var elements: [JSONValue] { if case .array(let values) = self { values } else { [] } }

    /// The value as a word of a scenario: a string itself, a whole number without a fraction.
    public var word: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let value): Int(exactly: value).map { String($0) } ?? String(value)
        case .string(let value): value
        case .array(let values): "[" + values.map(\.word).joined(separator: ",") + "]"
        case .object(let members):
            "{"
                + members.keys.sorted().map { "\($0):\(members[$0]?.word ?? "")" }
                .joined(separator: ",") + "}"
        }
    }
}

extension JSONValue: Decodable {
    /// Takes whatever value stands there.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }
}
