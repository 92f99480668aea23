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

/// The keys of a resource: their names, how their values are read, and how they are written.
///
/// Both switches below name every key, so a key that is not read or not written does not compile.
enum ResourceKey: String, ManifestKey {
    case path, url, mirrors, size, sha512, sha256, sha1, md5, integrity, pieces, type, refresh
    case method, body, headers, priority, executable, optional, urgent, tags
    static let place = "a resource"

    /// The keys that Metalink can express, or that have an error message of their own for Metalink.
    static let inMetalink: Set<ResourceKey> = [
        .path, .url, .mirrors, .size, .sha512, .sha256, .sha1, .md5, .integrity, .pieces, .method,
        .body,
    ]
}

extension ResourceDraft {
    /// Sets a key that has one value; the decoder walks through the other keys.
    func set(_ key: ResourceKey, _ value: WrittenValue, at place: TextPosition) {
        let name = key.rawValue
        switch key {
        case .path: path = located(value, name, at: place)
        case .url:
            hasURL = true
            url = located(value, name, at: place)
        case .size: resource.size = check.size(value, name, at: place)
        case .sha256: setDigest(.sha256, value, at: place)
        case .sha512: setDigest(.sha512, value, at: place)
        case .sha1: setDigest(.sha1, value, at: place)
        case .md5: setDigest(.md5, value, at: place)
        case .integrity:
            if let digest = check.integrity(value, at: place) { add(digest, at: place) }
        case .type: resource.mediaType = check.mediaType(value, at: place)
        case .refresh: refresh = check.refresh(value, at: place)
        case .method: method = located(value, name, at: place)
        case .body:
            hasBody = true
            guard let text = check.text(value, name, at: place, isSecret: true) else { return }
            do throws(TemplateError) {
                body = Located(value: try Template(text), place: place)
            } catch {
                check.log.error(at: place, "body: \(error)")
            }
        case .priority:
            if let number = check.priority(value, at: place) { resource.priority = number }
        case .executable: resource.isExecutable = check.boolean(value, name, at: place)
        case .optional: resource.isOptional = check.boolean(value, name, at: place)
        case .urgent: resource.isUrgent = check.boolean(value, name, at: place)
        case .tags: tags = check.tags(value, at: place)
        case .mirrors, .headers, .pieces: check.wrongKind(value, name, at: place)
        }
    }

    private func located(
        _ value: WrittenValue, _ name: String, at place: TextPosition
    ) -> Located<String>? {
        check.text(value, name, at: place).map { Located(value: $0, place: place) }
    }
}

extension ResourceKey {
    /// A value that each notation writes in its own way.
    enum Written {
        case text(String)
        case number(Int64)
        case flag
        case words([String])
        case body(String)
        /// The sources other than the primary one, with the headers that they do not inherit.
        case mirrors([(url: String, headers: [HeaderField])])
        case headers([HeaderField])
        case pieces(Pieces)
    }

    /// Returns the value of this key for a resource.
    ///
    /// Returns nil if a reader assumes the same value. The model already has merged defaults and
    /// absolute URLs, so writing it needs neither `defaults` nor `base`. Reading the text again
    /// makes the same model.
    ///
    /// - Parameter folder: the folder to which the URLs of files in it are relative.
    func written(of resource: Resource, from folder: SourceURL?) -> Written? {
        switch self {
        case .path:
            .text(
                resource.isNamedByServer ? resource.target.folder + "/" : resource.target.path)
        case .url: .text(resource.primary.url.reference(from: folder))
        case .mirrors:
            resource.mirrors.isEmpty
                ? nil
                : .mirrors(
                    resource.mirrors.map {
                        ($0.url.reference(from: folder), resource.ownHeaders(of: $0) ?? $0.headers)
                    })
        case .size: resource.size.map { .number($0) }
        case .sha512, .sha256, .sha1, .md5:
            resource.digests.first { $0.algorithm.rawValue == rawValue }.map { .text($0.hex) }
        case .integrity:
            // Only a digest that has no key of its own needs `integrity`.
            resource.digests.first { ResourceKey(rawValue: $0.algorithm.rawValue) == nil }
                .map { .text($0.integrity) }
        case .pieces: resource.pieces.map { .pieces($0) }
        case .type: resource.mediaType.map { .text($0.description) }
        case .refresh:
            resource.refresh == resource.assumedRefresh ? nil : .text(resource.refresh.description)
        case .method: resource.method == .get ? nil : .text("POST")
        case .body:
            if case .post(let body) = resource.method { .body(body.description) } else { nil }
        case .headers:
            resource.primary.headers.isEmpty ? nil : .headers(resource.primary.headers)
        case .priority: resource.priority == 0 ? nil : .number(Int64(resource.priority))
        case .executable: resource.isExecutable ? .flag : nil
        case .optional: resource.isOptional ? .flag : nil
        case .urgent: resource.isUrgent ? .flag : nil
        case .tags: resource.tags.isEmpty ? nil : .words(resource.tags)
        }
    }
}
