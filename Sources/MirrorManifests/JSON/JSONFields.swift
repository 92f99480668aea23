internal import MirrorModel

/// The members of a JSON object, asked for by key; each error names the place of what is wrong.
package struct JSONFields {
    private let tree: JSONTree
    private let file: String

    /// Takes an object; refuses one that has other keys than these.
    package init(_ tree: JSONTree, keys: [String], file: String) throws(ManifestRefusal) {
        (self.tree, self.file) = (tree, file)
        guard case .object(let members) = tree.value else {
            throw refusal(of: tree, "an object belongs here")
        }
        for member in members where !keys.contains(member.key) {
            let nearest = NearestName.suggestion(for: member.key, among: keys)
            throw ManifestRefusal(
                file: file, at: member.place,
                "\(Quoted(member.key)): there is no such key here"
                    + (nearest.map { ". Write \($0)?" } ?? ""))
        }
    }

    /// The refusal of a value, with its place.
    package func refusal(of value: JSONTree, _ message: String) -> ManifestRefusal {
        ManifestRefusal(file: file, at: value.place, message)
    }

    /// The value of a key that must be there.
    package func value(_ key: String) throws(ManifestRefusal) -> JSONTree {
        guard let value = tree[key] else { throw refusal(of: tree, "the key \(key) is missing") }
        return value
    }

    /// The fields of an object beneath a key that must be there.
    package func object(_ key: String, keys: [String]) throws(ManifestRefusal) -> JSONFields {
        try JSONFields(try value(key), keys: keys, file: file)
    }

    /// The same for a key that may be missing.
    package func optionalObject(
        _ key: String, keys: [String]
    ) throws(ManifestRefusal) -> JSONFields? {
        tree[key] == nil ? nil : try object(key, keys: keys)
    }

    /// The fields of each object of a list beneath a key; none where there is no list.
    package func objects(
        _ key: String, keys: [String]
    ) throws(ManifestRefusal) -> [JSONFields] {
        var fields: [JSONFields] = []
        for element in try list(key) {
            fields.append(try JSONFields(element, keys: keys, file: file))
        }
        return fields
    }

    /// The text of a key, read by a closure that returns nil for what it does not take.
    package func text<Value>(
        _ key: String, _ right: String, _ read: (String) -> Value?
    ) throws(ManifestRefusal) -> Value {
        let value = try value(key)
        guard let text = value.string, let result = read(text) else {
            throw refusal(of: value, "\(key): write \(right)")
        }
        return result
    }

    /// The same for a key that may be missing.
    package func optionalText<Value>(
        _ key: String, _ right: String, _ read: (String) -> Value?
    ) throws(ManifestRefusal) -> Value? {
        tree[key] == nil ? nil : try text(key, right, read)
    }

    /// The texts of a list; none where the key is missing.
    package func texts<Value>(
        _ key: String, _ right: String, _ read: (String) -> Value?
    ) throws(ManifestRefusal) -> [Value] {
        var values: [Value] = []
        for element in try list(key) {
            guard let text = element.string, let value = read(text) else {
                throw refusal(of: element, "\(key): write \(right)")
            }
            values.append(value)
        }
        return values
    }

    /// A whole number of at least 0.
    package func size(_ key: String) throws(ManifestRefusal) -> Int64 {
        let number = try number(key)
        guard number >= 0 else {
            throw refusal(of: try value(key), "\(key): write a number of at least 0")
        }
        return number
    }

    /// The same for a key that may be missing.
    package func optionalSize(_ key: String) throws(ManifestRefusal) -> Int64? {
        tree[key] == nil ? nil : try size(key)
    }

    /// A whole number that fits in 64 bits.
    package func number(_ key: String) throws(ManifestRefusal) -> Int64 {
        let value = try value(key)
        guard let number = value.int else {
            throw refusal(of: value, "\(key): write a whole number")
        }
        return number
    }

    /// The same for a key that may be missing.
    package func optionalNumber(_ key: String) throws(ManifestRefusal) -> Int64? {
        tree[key] == nil ? nil : try number(key)
    }

    /// True or false; false where the key is missing.
    package func flag(_ key: String) throws(ManifestRefusal) -> Bool {
        guard let value = tree[key] else { return false }
        guard let flag = value.bool else {
            throw refusal(of: value, "\(key): write true or false")
        }
        return flag
    }

    private func list(_ key: String) throws(ManifestRefusal) -> [JSONTree] {
        guard let value = tree[key] else { return [] }
        guard case .array(let elements) = value.value else {
            throw refusal(of: value, "\(key): write a list")
        }
        return elements
    }
}
