internal import MirrorModel

/// The keys of a manifest, one enumeration for each place that has keys.
protocol ManifestKey: RawRepresentable<String>, CaseIterable, Hashable {
    /// The name of the place in errors.
    static var place: String { get }
}

extension ManifestKey {
    /// The key with these bytes as its name; nil where there is none.
    ///
    /// Making a `String` of each key would take a tenth of the time of reading a long manifest.
    static func named(_ name: [UInt8]) -> Self? {
        name.withUnsafeBufferPointer { name in
            allCases.first { key in
                var text = key.rawValue
                return text.withUTF8 { $0.count == name.count && $0.elementsEqual(name) }
            }
        }
    }
}

enum TopKey: String, ManifestKey {
    case version, name, base, atomic, defaults, resources
    static let place = "a manifest"
}

enum DefaultsKey: String, ManifestKey {
    case directory, refresh, headers, priority, tags
    static let place = "defaults"
}

enum MirrorKey: String, ManifestKey {
    case url, headers
    static let place = "a mirror"
}

enum PiecesKey: String, ManifestKey {
    case length, sha256
    static let place = "pieces"
}

/// Keys that are not mirror's own.
enum ForeignKey {
    /// Whether a key is left to other programs: `x-…`, `$schema`, `xmlns…` and `xsi:…`.
    static func isIgnored(_ key: String) -> Bool {
        key.hasPrefix("x-") || key == "$schema" || key.hasPrefix("xmlns") || key.hasPrefix("xsi:")
    }

    /// The key that is meant beyond doubt: the same one in another case.
    static func correction<Key: ManifestKey>(of key: String, in _: Key.Type) -> String? {
        Key.allCases.first { $0.rawValue == key.lowercased() && $0.rawValue != key }?.rawValue
    }

    /// The message about a key that a place does not have.
    static func message<Key: ManifestKey>(
        _ key: String, _ value: String?, in _: Key.Type, as kind: String
    ) -> String {
        let names = Key.allCases.map(\.rawValue)
        let meant = Key.self == ResourceKey.self ? MeantKey.key(for: key, value: value) : nil
        let advice =
            (meant ?? NearestName.suggestion(for: key, among: names)).map { "\(Quoted($0))?" }
            ?? "begin it with x- to keep a note"
        return "\(Key.place) has no \(kind) \(Quoted(key)); \(advice)"
    }
}

/// A value as written, before the rules of its key are applied.
enum WrittenValue {
    /// A JSON string.
    case string(String)
    /// A JSON number, its text.
    case number(String)
    case boolean(Bool)
    case null
    case object
    case array
    /// The text of an XML attribute or element; its key decides the type.
    case untyped(String)

    var kind: String {
        switch self {
        case .string: "a string"
        case .number: "a number"
        case .boolean: "true or false"
        case .null: "null"
        case .object: "an object"
        case .array: "a list"
        case .untyped: "a text"
        }
    }
}
