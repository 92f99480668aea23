/// A JSON value with the place of each part, for short documents that are read whole. TOML becomes
/// one too.
package struct JSONTree: Sendable {
    /// The value without its place.
    package indirect enum Value: Sendable {
        case object([Member])
        case array([JSONTree])
        case string(String)
        /// A number as it is written.
        case number(String)
        case boolean(Bool)
        case null
    }

    /// A member of an object.
    package struct Member: Sendable {
        package let key: String
        /// Where its key begins.
        package let place: TextPosition
        package let value: JSONTree
    }

    package let value: Value
    /// Where it begins.
    package let place: TextPosition
    /// The positions of the members of an object with many.
    private let positions: [String: Int]?

    /// Reads a whole document. Throws `ManifestRefusal`, whose diagnostics name `file`.
    package init(_ bytes: [UInt8], file: String) throws(ManifestRefusal) {
        let log = DiagnosticLog(file: file)
        var tree: JSONTree?
        do {
            var tokens = try JSONTokenizer(ManifestBytes(bytes), log: log)
            tree = try JSONTree(try tokens.next(), &tokens)
            _ = try tokens.next()
        } catch {
            tree = nil
        }
        guard let tree, log.refusal == nil else {
            throw log.refusal ?? ManifestRefusal(diagnostics: [], omitted: 0)
        }
        self = tree
    }

    /// Reads a whole document; what is wrong with it is in the log.
    init(
        _ bytes: ManifestBytes, log: DiagnosticLog, longestText: Int = JSONTokenizer.longestText
    ) throws(DecodingStop) {
        var tokens = try JSONTokenizer(bytes, log: log, longestText: longestText)
        self = try JSONTree(try tokens.next(), &tokens)
        _ = try tokens.next()
    }

    /// Takes a value that the reader of TOML made.
    init(_ value: Value, at place: TextPosition) {
        (self.value, self.place) = (value, place)
        positions = JSONTree.positions(in: value)
    }

    /// A search through few members is faster than a dictionary. One through many would take long
    /// where it is made for each part of a document.
    private static func positions(in value: Value) -> [String: Int]? {
        guard case .object(let members) = value, members.count > 32 else { return nil }
        return Dictionary(
            members.enumerated().map { ($0.element.key, $0.offset) }, uniquingKeysWith: min)
    }

    /// Reads the value that a token begins.
    init(_ token: JSONToken, _ tokens: inout JSONTokenizer) throws(DecodingStop) {
        place = tokens.start
        switch token {
        case .beginObject:
            var members: [Member] = []
            while case .key = try tokens.next() {
                let (key, place) = (tokens.string, tokens.start)
                let value = try JSONTree(try tokens.next(), &tokens)
                members.append(Member(key: key, place: place, value: value))
            }
            value = .object(members)
        case .beginArray:
            var elements: [JSONTree] = []
            while true {
                let token = try tokens.next()
                if case .endArray = token { break }
                elements.append(try JSONTree(token, &tokens))
            }
            value = .array(elements)
        case .string: value = .string(tokens.string)
        case .number: value = .number(tokens.string)
        case .boolean(let flag): value = .boolean(flag)
        case .null, .endObject, .endArray, .key, .end: value = .null
        }
        positions = JSONTree.positions(in: value)
    }
}

extension JSONTree {
    /// The value of a member; nil where there is none, or where this is no object.
    package subscript(key: String) -> JSONTree? {
        guard case .object(let members) = value else { return nil }
        if let positions { return positions[key].map { members[$0].value } }
        return members.first { $0.key == key }?.value
    }

    /// The elements of an array; empty for anything else.
    package var elements: [JSONTree] {
        if case .array(let elements) = value { elements } else { [] }
    }

    /// The text of a string; nil for anything else.
    package var string: String? { if case .string(let text) = value { text } else { nil } }

    /// A whole number; nil for anything else.
    package var int: Int64? { if case .number(let text) = value { Int64(text) } else { nil } }

    /// A number; nil for anything else.
    package var double: Double? { if case .number(let text) = value { Double(text) } else { nil } }

    /// True or false; nil for anything else.
    package var bool: Bool? { if case .boolean(let flag) = value { flag } else { nil } }
}
