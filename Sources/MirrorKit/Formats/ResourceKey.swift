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
