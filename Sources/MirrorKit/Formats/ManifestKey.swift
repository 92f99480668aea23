/// The keys of one kind of place in a manifest, such as a resource or a header.
protocol ManifestKey: RawRepresentable<String>, CaseIterable, Hashable {
    /// The name of this kind of place in errors.
    static var place: String { get }
}

extension ManifestKey {
    /// Returns the key with these bytes as its name. Returns nil if there is no such key.
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

extension ManifestKey {
    /// Returns the key that is meant beyond doubt: the same one in another case.
    ///
    /// Returns nil if there is no such key.
    static func correction(of key: String) -> String? {
        allCases.first { $0.rawValue == key.lowercased() && $0.rawValue != key }?.rawValue
    }

    /// The message about a key that the place does not have.
    static func message(about key: String, _ value: String?, as kind: String) -> String {
        let meant = Self.self == ResourceKey.self ? ResourceKey.meant(by: key, value) : nil
        let nearest = meant ?? NearestName.suggestion(for: key, among: allCases.map(\.rawValue))
        let advice = nearest.map { "\(Quoted($0))?" } ?? "begin it with x- to keep a note"
        return "\(place) has no \(kind) \(Quoted(key)); \(advice)"
    }
}

extension String {
    /// Whether other programs own a key: `x-…`, `$schema`, `xmlns…` and `xsi:…`.
    var isForeignKey: Bool {
        hasPrefix("x-") || self == "$schema" || hasPrefix("xmlns") || hasPrefix("xsi:")
    }
}

// MARK: The names that other tools give to the keys of a resource

extension ResourceKey {
    /// Returns the key that a foreign name means. Returns nil if the name is unknown.
    ///
    /// - Parameters:
    ///   - name: the name as written, in any case.
    ///   - value: the value as written, if it is a text. A digest's length gives its algorithm.
    static func meant(by name: String, _ value: String?) -> String? {
        let name = name.lowercased()
        if digestNames.contains(name) { return digestKey(of: value ?? "") }
        return otherNames.first { $0.value.contains(name) }?.key
    }

    private static let digestNames: Set<String> = [
        "sha", "hash", "checksum", "digest", "sum", "sha2", "hexdigest",
    ]

    private static let otherNames: [String: Set<String>] = [
        "path": [
            "dest", "destination", "dst", "filename", "file", "output", "out", "target", "to",
            "name",
            "save_as", "saveas", "localpath", "local_path",
        ],
        "url": ["uri", "href", "link", "src", "source", "location", "download", "address"],
        "size": ["bytes", "length", "filesize", "file_size", "contentlength"],
        "mirrors": ["urls", "alternatives", "alternates", "fallbacks"],
        "type": ["mime", "mimetype", "mediatype", "contenttype", "content-type"],
        "refresh": ["ttl", "maxage", "max-age", "expires"],
    ]

    private static func digestKey(of value: String) -> String {
        let lowered = value.lowercased()
        for name in ["sha256", "sha512", "sha1", "md5"] where lowered.hasPrefix(name) {
            return lowered.hasPrefix(name + "-") ? "integrity" : name
        }
        switch value.utf8.count {
        case 128: return "sha512"
        case 40: return "sha1"
        case 32: return "md5"
        default: return "sha256"
        }
    }
}

/// A value in the form in which the text has it, before its key's rules are applied.
enum WrittenValue {
    /// A JSON string.
    case string(String)
    /// The text of a JSON number.
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
