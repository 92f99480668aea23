/// The redirects of one request to a source so far, and what the next request may still carry.
///
/// The transport follows no redirects itself, because it would send headers to other origins. It
/// also cannot forbid the step from https to http.
struct Redirection: Sendable, Hashable {
    /// How many redirects a request may follow.
    static let limit = 10

    /// The URL of the next request.
    private(set) var url: SourceURL
    /// Whether a redirect has led to another origin.
    ///
    /// After that no request carries manifest headers or credentials, even if a later redirect
    /// leads back.
    private(set) var hasLeftOrigin = false
    /// Whether the next request is a POST with its body.
    private(set) var isPost: Bool
    /// The number of redirects followed.
    private(set) var hops = 0
    private var cookies = CookieJar()

    /// Begins at a source.
    init(url: SourceURL, isPost: Bool) {
        self.url = url
        self.isPost = isPost
    }

    /// The value of the next request's Cookie field; nil if the request carries no cookies.
    var cookie: String? { cookies.field(forPath: url.path) }

    /// Follows one redirect. Throws the reason if mirror must not follow it.
    ///
    /// - Parameters:
    ///   - head: the redirecting response. The next request carries its cookies to the same origin.
    ///   - location: the text of a URL reference.
    mutating func follow(
        _ head: ResponseHead, to location: String, at now: Instant
    ) throws(ResponseError) {
        let status = head.status
        guard hops < Redirection.limit else {
            throw ResponseError(
                .tooManyRedirects, "the server redirected more than \(Redirection.limit) times",
                status: status)
        }
        let next: SourceURL
        do { next = try SourceURL(location, relativeTo: url) } catch {
            throw refused("to an address that cannot be read", status)
        }
        guard next.scheme != .file else { throw refused("to a file", status) }
        guard url.scheme == .http || next.scheme == .https else {
            throw refused("from https to http", status)
        }
        guard next.scheme != .s3 else { throw refused("to a bucket of S3", status) }
        let crosses = next.origin != url.origin
        if isPost {
            if status == 307 || status == 308 {
                guard !crosses else { throw refused("a POST to another origin", status) }
            } else {
                isPost = false
            }
        }
        if crosses {
            hasLeftOrigin = true
            cookies = CookieJar()
        } else {
            cookies.take(head, from: url, at: now)
        }
        hops += 1
        url = next
    }

    /// Returns a Location as the text of a URL reference, read as browsers read it.
    ///
    /// Servers send spaces, quotes, bars and bytes beyond ASCII as they are, which RFC 3986 does
    /// not allow. This function percent-encodes them after the authority. It turns a backslash
    /// before the query into a slash.
    static func text(of location: ArraySlice<UInt8>) -> String {
        let question = UInt8(ascii: "?")
        let end = authorityEnd(location)
        var text = String(decoding: location[..<end], as: UTF8.self)
        var isQuery = false
        for at in end..<location.endIndex {
            let byte = location[at]
            isQuery = isQuery || byte == question
            switch byte {
            case UInt8(ascii: "\\") where !isQuery: text += "/"
            case UInt8(ascii: "%") where Hex.decode(location[(at + 1)...].prefix(2))?.count != 1:
                text += "%25"
            case 0x00...0x20, 0x7F...0xFF, UInt8(ascii: "\""), UInt8(ascii: "<"),
                UInt8(ascii: ">"), UInt8(ascii: "\\"), UInt8(ascii: "^"), UInt8(ascii: "`"),
                UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"), UInt8(ascii: "["),
                UInt8(ascii: "]"):
                text += "%" + Hex.encode([byte]).uppercased()
            default: text.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        return text
    }

    /// Returns where the scheme and the authority of a reference end, or its start without them.
    private static func authorityEnd(_ text: ArraySlice<UInt8>) -> Int {
        let slash = UInt8(ascii: "/")
        let ends = [slash, UInt8(ascii: "?"), UInt8(ascii: "#")]
        var start = text.startIndex
        if let colon = text.firstIndex(of: UInt8(ascii: ":")),
            !text[..<colon].contains(where: ends.contains)
        {
            start = colon + 1
        }
        guard text[start...].starts(with: [slash, slash]) else { return start }
        return text[(start + 2)...].firstIndex(where: ends.contains) ?? text.endIndex
    }

    private func refused(_ what: String, _ status: Int) -> ResponseError {
        ResponseError(.redirectRefused, "the server redirects \(what)", status: status)
    }
}

extension ResponseHead {
    /// The place to which a redirect leads, as the text of a URL reference.
    ///
    /// Nil if Location is missing or empty, or if several Locations differ.
    var redirectLocation: String? {
        guard has(.location), let first = values(of: .location).first,
            values(of: .location).allSatisfy({ $0 == first }), !first.isEmpty
        else { return nil }
        return Redirection.text(of: first[...])
    }
}

/// The cookies that the redirects of one chain have set, all of one origin (RFC 6265).
///
/// Some servers redirect a client in a circle until it sends a cookie. So mirror keeps cookies for
/// the rest of a chain, in memory. Cookies do not go to another origin, which is stricter than the
/// Domain attribute demands. A chain lasts for seconds, so an expiry matters only if it deletes the
/// cookie.
struct CookieJar: Sendable, Hashable {
    /// `most`: how many cookies a jar keeps; `mostBytes`: the length of one (RFC 6265 §6.1).
    private static let (most, mostBytes) = (50, 4096)

    private struct Cookie: Sendable, Hashable {
        let name: String
        let value: String
        let path: String

        /// Whether this cookie takes the place of another (RFC 6265 §5.3, step 11).
        func replaces(_ other: Cookie) -> Bool { name == other.name && path == other.path }
    }

    /// The cookies in the order in which they came.
    private var cookies: [Cookie] = []

    /// Keeps the cookies of a response's Set-Cookie fields, except malformed ones.
    mutating func take(_ head: ResponseHead, from url: SourceURL, at now: Instant) {
        guard head.has(.setCookie) else { return }
        for field in head.values(of: .setCookie) { take(field[...], from: url, at: now) }
    }

    private mutating func take(_ field: ArraySlice<UInt8>, from url: SourceURL, at now: Instant) {
        let parts = field.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        guard let first = parts.first, let pair = CookieJar.pair(first), !pair.name.isEmpty,
            pair.name.count + pair.value.count <= CookieJar.mostBytes,
            !first.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }),
            let name = String(validating: pair.name, as: UTF8.self),
            let value = String(validating: pair.value, as: UTF8.self)
        else { return }
        var (path, hasAge, isDeleted) = (String?.none, false, false)
        for attribute in parts.dropFirst() {
            let (key, bytes) = CookieJar.pair(attribute) ?? (CookieJar.trimmed(attribute), [])
            let text = String(decoding: bytes, as: UTF8.self)
            switch String(decoding: key, as: UTF8.self).lowercased() {
            case "domain":
                let domain = text.hasPrefix(".") ? String(text.dropFirst()) : text
                guard domain.isEmpty || CookieJar.isWithin(url.host, domain.lowercased()) else {
                    return
                }
            case "path": path = text.hasPrefix("/") ? text : nil
            case "secure":
                guard url.scheme == .https else { return }
            case "max-age":
                guard let seconds = CookieJar.seconds(text) else { continue }
                (hasAge, isDeleted) = (true, seconds <= 0)
            case "expires":
                // Max-Age has precedence over Expires.
                guard !hasAge, let date = CookieJar.date(text) else { continue }
                isDeleted = date.seconds * 1000 <= now.milliseconds
            default: continue
            }
        }
        let cookie = Cookie(
            name: name, value: value, path: path ?? CookieJar.defaultPath(url.path))
        let place = cookies.firstIndex(where: cookie.replaces)
        if isDeleted {
            if let place { cookies.remove(at: place) }
        } else if let place {
            cookies[place] = cookie
        } else if cookies.count < CookieJar.most {
            cookies.append(cookie)
        }
    }

    /// The value of the Cookie field for a request to the same origin (RFC 6265 §5.4).
    ///
    /// Nil if no cookie matches the path.
    func field(forPath path: String) -> String? {
        let sent = cookies.enumerated().filter { CookieJar.isWithin(path: path, $0.element.path) }
            .sorted { left, right in
                let lengths = (left.element.path.utf8.count, right.element.path.utf8.count)
                return lengths.0 == lengths.1 ? left.offset < right.offset : lengths.0 > lengths.1
            }
            .map { "\($0.element.name)=\($0.element.value)" }
        return sent.isEmpty ? nil : sent.joined(separator: "; ")
    }
}

// MARK: The rules of RFC 6265

extension CookieJar {
    /// Splits a name and a value at the first `=`, without blanks. Nil without a `=` (§5.2).
    private static func pair(
        _ text: ArraySlice<UInt8>
    ) -> (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)? {
        guard let equals = text.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        return (trimmed(text[..<equals]), trimmed(text[(equals + 1)...]))
    }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var text = text
        while text.first.map(isBlank) == true { text.removeFirst() }
        while text.last.map(isBlank) == true { text.removeLast() }
        return text
    }

    /// Reads the seconds of a Max-Age. Returns nil if the text is no whole number (§5.2.2).
    private static func seconds(_ text: String) -> Int64? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(text) ?? (text.hasPrefix("-") ? 0 : .max)
    }

    /// Reads the date of an Expires, which many servers write with hyphens. Nil if it is no date.
    private static func date(_ text: String) -> HTTPDate? {
        HTTPDate(text)
            ?? HTTPDate(String(text.map { $0 == "-" ? " " : $0 }))
    }

    /// Whether a host is a domain or lies within it. An IP address matches only itself (§5.1.3).
    private static func isWithin(_ host: String, _ domain: String) -> Bool {
        if host == domain { return true }
        return host.hasSuffix("." + domain) && host.utf8.contains { $0 > UInt8(ascii: "9") }
            && !host.contains(":")
    }

    /// Returns the path of a cookie that names none: the URL's path up to its last slash (§5.1.4).
    private static func defaultPath(_ path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    /// Whether a request's path matches a cookie's path (§5.1.4).
    private static func isWithin(path: String, _ prefix: String) -> Bool {
        guard path.hasPrefix(prefix) else { return false }
        return prefix.hasSuffix("/") || path.utf8.count == prefix.utf8.count
            || path.utf8.dropFirst(prefix.utf8.count).first == UInt8(ascii: "/")
    }
}
