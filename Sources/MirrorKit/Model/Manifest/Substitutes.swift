/// The places that mirror asks in front of a resource's own sources: stores and site caches.
///
/// A user chooses them for a run; a manifest never does. mirror trusts them no more than any other
/// source: size, digests and validators decide.
struct Substitutes: Sendable {
    /// The stores, in the order in which they are asked.
    var stores: [Store] = []
    /// The rewrites, in the order in which their places are asked.
    var rewrites: [Rewrite] = []

    /// No substitutes.
    init() {}

    /// Reads the places of `store` and the rules of `rewrite`. Throws `MirrorError` with `usage`.
    init(stores: [String], rewrites: [String]) throws(MirrorError) {
        self.stores = try stores.map { text throws(MirrorError) in try Store(text) }
        self.rewrites = try rewrites.map { text throws(MirrorError) in try Rewrite(text) }
    }

    /// The places at which rewrites ask for a URL first, in their order.
    func places(of url: SourceURL) -> [(place: String, url: SourceURL)] {
        rewrites.compactMap { rule in
            rule.place(of: url).map { (rule.to.description, $0) }
        }
    }

    /// The URL that a rewrite has sent to the place that answered. Returns nil if none has.
    ///
    /// - Parameter place: the URL that answered, without its query.
    func original(of place: String, asked url: SourceURL) -> SourceURL? {
        for rule in rewrites {
            guard let asked = rule.place(of: url), place.hasPrefix(rule.to.withoutSecrets) else {
                continue
            }
            if asked.withoutSecrets == place { return url }
            let rest = String(place.dropFirst(rule.to.withoutSecrets.count))
            return SourceURL(rule.from.authority, pathAndQuery: rule.from.path + rest)
        }
        return nil
    }

    var isEmpty: Bool { stores.isEmpty && rewrites.isEmpty }
}

/// A place that may have bytes by their sha256: a folder, a root, or a URL.
struct Store: Sendable, Hashable {
    /// The place as the user named it, without a slash at its end.
    let place: String
    /// The URL below which the bytes lie. `nil` means a folder.
    let url: SourceURL?

    /// Reads a path, or an http(s) or file URL. Throws `MirrorError` with `usage`.
    init(_ text: String) throws(MirrorError) {
        guard text.utf8.contains(UInt8(ascii: ":")), text.contains("://") else {
            (place, url) = (Store.withoutSlash(text), nil)
            if place.isEmpty || text.utf8.contains(0) {
                throw MirrorError(.usage, "\(Quoted(text)): a store is a folder or a URL.")
            }
            return
        }
        let url = try Store.url(text, of: "store")
        place = Store.withoutSlash(url.filePath ?? url.description)
        self.url = url.scheme == .file ? nil : url
    }

    /// Reads a URL below which a place's files lie. Throws `MirrorError` with `usage`.
    static func url(_ text: String, of what: String) throws(MirrorError) -> SourceURL {
        let url: SourceURL
        do throws(SourceURLError) { url = try SourceURL(text) } catch {
            throw MirrorError(.usage, "\(Quoted(url: text)) is no \(what): \(error).")
        }
        if url.userInfo != nil {
            throw MirrorError(
                .usage,
                "\(url): a \(what) takes no user name and password in its URL. Put them into a netrc file."
            )
        }
        if url.query != nil {
            throw MirrorError(.usage, "\(url): a \(what) has no query.")
        }
        return url
    }

    private static func withoutSlash(_ text: String) -> String {
        text.utf8.count > 1 && text.utf8.last == UInt8(ascii: "/")
            ? String(text.dropLast()) : text
    }

    /// The name of a file of a store, below the store's place.
    static func name(of sha256: Digest) -> String { "cas/\(sha256.hex)" }

    /// The URL of the bytes in a store that has a URL.
    static func address(of sha256: Digest, below url: SourceURL) -> SourceURL {
        let slash = url.path.utf8.last == UInt8(ascii: "/") ? "" : "/"
        return SourceURL(
            url.authority, pathAndQuery: url.path + slash + Store.name(of: sha256))
    }
}

/// A rule that sends requests for URLs with one beginning to another place first.
struct Rewrite: Sendable, Hashable {
    /// The beginning of the URLs.
    let from: SourceURL
    /// What stands in its place.
    let to: SourceURL

    /// Reads `FROM=TO`, two http(s) URLs. Throws `MirrorError` with `usage`.
    init(_ text: String) throws(MirrorError) {
        let signs = text.indices.filter { text[$0] == "=" }
        let sign = signs.first { at in
            let rest = text[text.index(after: at)...].lowercased()
            return rest.hasPrefix("http://") || rest.hasPrefix("https://")
        }
        guard let sign else {
            throw MirrorError(
                .usage,
                "\(Quoted(url: text)): write FROM=TO, such as https://origin.example/=http://cache/origin/."
            )
        }
        from = try Store.url(String(text[..<sign]), of: "rewrite")
        let to = try Store.url(String(text[text.index(after: sign)...]), of: "rewrite")
        if from.scheme != .http, from.scheme != .https {
            throw MirrorError(.usage, "\(from): a rewrite begins with http:// or https://.")
        }
        if from == to {
            throw MirrorError(.usage, "\(from): this rewrite leads to the same place.")
        }
        let lacksSlash =
            from.path.utf8.last == UInt8(ascii: "/") && to.path.utf8.last != UInt8(ascii: "/")
        self.to = lacksSlash ? SourceURL(to.authority, pathAndQuery: to.path + "/") : to
    }

    /// Returns where a URL is asked for first. Returns nil if the rule is not about the URL.
    func place(of url: SourceURL) -> SourceURL? {
        let (text, start) = (url.requestText.utf8, from.requestText.utf8)
        guard text.starts(with: start) else { return nil }
        let rest = String(decoding: text.dropFirst(start.count), as: UTF8.self)
        return SourceURL(to.authority, pathAndQuery: to.path + rest)
    }
}

extension StatusCode {
    /// Whether a place says that it does not have a file.
    ///
    /// S3 answers 403 for a missing object to a user who may not list the bucket.
    static func meansAbsent(_ status: Int) -> Bool { [403, 404, 410].contains(status) }

    /// Whether a place that is asked in front of a source is not worth a further request, because
    /// it wants credentials that it did not get.
    static func meansDown(_ status: Int) -> Bool { status == 401 || status == 407 }
}
