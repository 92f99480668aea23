/// A JSON value with the place of each part, for short documents that are read whole.
///
/// The TOML parser makes such values too.
package struct JSONTree: Sendable {
    /// The value without its place.
    package indirect enum Value: Sendable {
        case object([Member])
        case array([JSONTree])
        case string(String)
        /// A number in the form in which the text has it.
        case number(String)
        case boolean(Bool)
        case null
    }

    /// A member of an object.
    package struct Member: Sendable {
        package let key: String
        /// The place at which the key begins.
        let place: TextPosition
        package let value: JSONTree
    }

    package let value: Value
    /// The place at which the value begins.
    let place: TextPosition
    /// The positions of an object's members by key. `nil` for an object with few members.
    private let positions: [String: Int]?

    /// Reads a whole document. Throws `ManifestError`, whose diagnostics name `file`.
    package init(_ bytes: [UInt8], file: String) throws(ManifestError) {
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
            throw log.refusal ?? ManifestError(diagnostics: [], omitted: 0)
        }
        self = tree
    }

    /// Reads a whole document. Errors go to the log.
    init(
        _ bytes: ManifestBytes, log: DiagnosticLog, longestText: Int = JSONTokenizer.longestText
    ) throws(DecodingStop) {
        var tokens = try JSONTokenizer(bytes, log: log, longestText: longestText)
        self = try JSONTree(try tokens.next(), &tokens)
        _ = try tokens.next()
    }

    /// Takes a value of the TOML parser.
    init(_ value: Value, at place: TextPosition) {
        (self.value, self.place) = (value, place)
        positions = JSONTree.positions(in: value)
    }

    /// Returns the positions of an object's members by key.
    ///
    /// A decoder looks up each part of a document, so searches of a large object would take long.
    /// Returns nil for few members, where a search is faster.
    private static func positions(in value: Value) -> [String: Int]? {
        guard case .object(let members) = value, members.count > 32 else { return nil }
        return Dictionary(
            members.enumerated().map { ($0.element.key, $0.offset) }, uniquingKeysWith: min)
    }

    /// Reads the value that begins with a token.
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
    /// The value of a member. `nil` means that the member is missing, or that this is no object.
    package subscript(key: String) -> JSONTree? {
        guard case .object(let members) = value else { return nil }
        if let positions { return positions[key].map { members[$0].value } }
        return members.first { $0.key == key }?.value
    }

    /// The elements of an array; empty for any other value.
    package var elements: [JSONTree] {
        if case .array(let elements) = value { elements } else { [] }
    }

    /// The text of a string; nil for any other value.
    package var string: String? { if case .string(let text) = value { text } else { nil } }

    /// A whole number; nil for any other value.
    package var int: Int64? { if case .number(let text) = value { Int64(text) } else { nil } }

    /// A number; nil for any other value.
    var double: Double? { if case .number(let text) = value { Double(text) } else { nil } }

    /// True or false; nil for any other value.
    package var bool: Bool? { if case .boolean(let flag) = value { flag } else { nil } }
}

/// Reads the members of a JSON object by key. An error names the place of the wrong value.
struct JSONFields {
    private let tree: JSONTree
    private let file: String

    /// Takes an object. Throws if the object has a key that is not in `keys`.
    init(_ tree: JSONTree, keys: [String], file: String) throws(ManifestError) {
        (self.tree, self.file) = (tree, file)
        guard case .object(let members) = tree.value else {
            throw refusal(of: tree, "an object belongs here")
        }
        for member in members where !keys.contains(member.key) {
            let nearest = NearestName.suggestion(for: member.key, among: keys)
            throw ManifestError(
                file: file, at: member.place,
                "\(Quoted(member.key)): there is no such key here"
                    + (nearest.map { ". Write \($0)?" } ?? ""))
        }
    }

    /// Makes the error about a value, with its place.
    func refusal(of value: JSONTree, _ message: String) -> ManifestError {
        ManifestError(file: file, at: value.place, message)
    }

    /// Returns the value of a key. Throws if the key is missing.
    func value(_ key: String) throws(ManifestError) -> JSONTree {
        guard let value = tree[key] else { throw refusal(of: tree, "the key \(key) is missing") }
        return value
    }

    /// Returns the fields of the object at a key. Throws if the key is missing.
    func object(_ key: String, keys: [String]) throws(ManifestError) -> JSONFields {
        try JSONFields(try value(key), keys: keys, file: file)
    }

    /// Returns the fields of each object in the list at a key.
    ///
    /// Returns an empty list if the key is missing.
    func objects(
        _ key: String, keys: [String]
    ) throws(ManifestError) -> [JSONFields] {
        var fields: [JSONFields] = []
        for element in try list(key) {
            fields.append(try JSONFields(element, keys: keys, file: file))
        }
        return fields
    }

    /// Returns the value that `read` makes of a key's text. Throws if `read` returns nil.
    func text<Value>(
        _ key: String, _ right: String, _ read: (String) -> Value?
    ) throws(ManifestError) -> Value {
        let value = try value(key)
        guard let text = value.string, let result = read(text) else {
            throw refusal(of: value, "\(key): write \(right)")
        }
        return result
    }

    /// Returns the value that `read` makes of a key's text. Returns nil if the key is missing.
    func optionalText<Value>(
        _ key: String, _ right: String, _ read: (String) -> Value?
    ) throws(ManifestError) -> Value? {
        tree[key] == nil ? nil : try text(key, right, read)
    }

    /// Returns the values that `read` makes of the texts in a list.
    ///
    /// Returns an empty list if the key is missing.
    func texts<Value>(
        _ key: String, _ right: String, _ read: (String) -> Value?
    ) throws(ManifestError) -> [Value] {
        var values: [Value] = []
        for element in try list(key) {
            guard let text = element.string, let value = read(text) else {
                throw refusal(of: element, "\(key): write \(right)")
            }
            values.append(value)
        }
        return values
    }

    /// Returns a whole number of at least 0. Throws if the key is missing.
    func size(_ key: String) throws(ManifestError) -> Int64 {
        let number = try number(key)
        guard number >= 0 else {
            throw refusal(of: try value(key), "\(key): write a number of at least 0")
        }
        return number
    }

    /// Returns a whole number that fits in 64 bits. Throws if the key is missing.
    func number(_ key: String) throws(ManifestError) -> Int64 {
        let value = try value(key)
        guard let number = value.int else {
            throw refusal(of: value, "\(key): write a whole number")
        }
        return number
    }

    /// Returns true or false. Returns false if the key is missing.
    func flag(_ key: String) throws(ManifestError) -> Bool {
        guard let value = tree[key] else { return false }
        guard let flag = value.bool else {
            throw refusal(of: value, "\(key): write true or false")
        }
        return flag
    }

    private func list(_ key: String) throws(ManifestError) -> [JSONTree] {
        guard let value = tree[key] else { return [] }
        guard case .array(let elements) = value.value else {
            throw refusal(of: value, "\(key): write a list")
        }
        return elements
    }
}
