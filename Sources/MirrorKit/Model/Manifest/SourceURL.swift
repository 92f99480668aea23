/// The address of a resource's bytes: an absolute http, https or file URL (RFC 3986).
///
/// The parser is strict, and mirror builds requests from the parsed parts. So the transport cannot
/// read another host out of the same text.
public struct SourceURL: Sendable, Hashable {
    let authority: URLAuthority
    /// The URL as mirror requests it: without user information, but with any secrets of its query.
    ///
    /// Most URLs have no query. Their requests, keys and events then share this text.
    public let requestText: String
    /// `pathStart`: the offset of the path in `requestText`.
    /// `pathEnd`: the offset of the path's end.
    private let (pathStart, pathEnd): (Int, Int)

    /// Creates a URL from its authority and the text behind it.
    ///
    /// - Parameter pathAndQuery: the path up to the first question mark, then the query.
    init(_ authority: URLAuthority, pathAndQuery: String) {
        self.init(authority, requestText: authority.site + pathAndQuery)
    }

    /// Creates a URL from its authority, its path and its query.
    ///
    /// - Parameter path: percent-encoded, beginning with a slash.
    init(_ authority: URLAuthority, path: [UInt8], query: [UInt8]?) {
        let site = authority.site.utf8
        let count = site.count + path.count + (query.map { $0.count + 1 } ?? 0)
        let text = String(unsafeUninitializedCapacity: count) { text in
            var end = text.update(fromContentsOf: site)
            end = text[end...].update(fromContentsOf: path)
            guard let query else { return end }
            text[end] = UInt8(ascii: "?")
            return text[(end + 1)...].update(fromContentsOf: query)
        }
        self.init(authority, requestText: text)
    }

    /// Creates a URL from its authority and its whole text.
    ///
    /// - Parameter requestText: the authority's origin, the path and the query.
    init(_ authority: URLAuthority, requestText: String) {
        self.authority = authority
        self.requestText = requestText
        let start = authority.site.utf8.count
        var text = requestText
        pathEnd = text.withUTF8 { $0[start...].firstIndex(of: UInt8(ascii: "?")) ?? $0.count }
        pathStart = start
    }

    /// The scheme.
    package var scheme: URLScheme { authority.origin.scheme }
    /// User name and password as written, without the `@`. `nil` means that there are none.
    public var userInfo: String? { authority.userInfo }
    /// The host, in lower case. An IPv6 address has no brackets. A `file` URL has an empty host.
    public var host: String { authority.origin.host }
    /// The port, with the scheme's default filled in.
    public var port: UInt16 { authority.origin.port }
    /// The path, percent-encoded, beginning with `/`, without dot segments.
    public var path: String {
        String(decoding: requestText.utf8.prefix(pathEnd).dropFirst(pathStart), as: UTF8.self)
    }
    /// Returns the path up to its last slash, followed by a relative path (RFC 3986 §5.2.3).
    func merged(with relative: [UInt8]) -> [UInt8] {
        var text = requestText
        return text.withUTF8 { text in
            let path = text[pathStart..<pathEnd]
            let folder = path[...(path.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex)]
            var merged: [UInt8] = []
            merged.reserveCapacity(folder.count + relative.count)
            merged += folder
            merged += relative
            return merged
        }
    }
    /// The query without its `?`. `nil` means that there is no query.
    public var query: String? {
        if pathEnd == requestText.utf8.count { return nil }
        return String(decoding: requestText.utf8.dropFirst(pathEnd + 1), as: UTF8.self)
    }

    /// The origin that credentials and headers of this URL belong to.
    public var origin: Origin { authority.origin }

    /// Origin and path, without query or user information: safe to print and to store.
    public var withoutSecrets: String {
        if pathEnd == requestText.utf8.count { return requestText }
        return String(decoding: requestText.utf8.prefix(pathEnd), as: UTF8.self)
    }

    /// The path, followed by a question mark and the query if there is a query.
    var pathAndQuery: String { withPathAndQuery { String(decoding: $0, as: UTF8.self) } }

    /// Returns the path's offset in `requestText` if the URLs differ in their paths only.
    ///
    /// Returns nil if they differ otherwise, if one has a query, or if this path has a
    /// percent-encoded byte.
    func plainPath(besides other: SourceURL) -> Int? {
        guard authority === other.authority || authority.site == other.authority.site,
            pathEnd == requestText.utf8.count, other.pathEnd == other.requestText.utf8.count
        else { return nil }
        var text = requestText
        return text.withUTF8 { $0[pathStart...].contains(UInt8(ascii: "%")) } ? nil : pathStart
    }

    /// Passes the bytes of the path and the query to the body. They are valid only during the call.
    func withPathAndQuery<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        var text = requestText
        return text.withUTF8 { body(UnsafeBufferPointer(rebasing: $0[pathStart...])) }
    }
}

extension SourceURL: CustomStringConvertible, CustomReflectable {
    /// The URL for messages: without user information and query, and with no sign of them.
    public var description: String { withoutSecrets }

    /// The URL as `description` has it.
    public var customMirror: Mirror { Mirror(self, children: ["url": withoutSecrets]) }
}

extension SourceURL {
    /// The URL without user name and password.
    var withoutUserInfo: SourceURL {
        if userInfo == nil { return self }
        return SourceURL(URLAuthority(origin), pathAndQuery: pathAndQuery)
    }

    /// User name and password, percent-decoded. `nil` means that there are none. Never printed.
    public var credentials: (user: String, password: String)? {
        guard let userInfo else { return nil }
        let halves = userInfo.utf8.split(
            separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        let texts = halves.map { String(decoding: PercentEncoding.decode($0), as: UTF8.self) }
        return (texts[0], texts.count > 1 ? texts[1] : "")
    }
}

extension SourceURL {
    /// The whole URL as a manifest has it, user name and password included. Never printed.
    public var textWithSecrets: String {
        guard let userInfo else { return requestText }
        let start = scheme.rawValue + "://"
        return start + userInfo + "@" + requestText.dropFirst(start.count)
    }

    /// The URL as a reference to resolve against a folder's URL (RFC 3986 §4.2).
    ///
    /// Only a file below the folder gets a relative reference, because such a file moves with the
    /// folder.
    public func reference(from folder: SourceURL?) -> String {
        guard let folder, scheme == .file, folder.scheme == .file, folder.path.last == "/",
            path.utf8.starts(with: folder.path.utf8)
        else { return textWithSecrets }
        let rest = String(decoding: path.utf8.dropFirst(folder.path.utf8.count), as: UTF8.self)
        guard let first = rest.utf8.first, first != UInt8(ascii: "/") else {
            return textWithSecrets
        }
        // A colon in the first segment would make that segment a scheme.
        let segment = rest.utf8.prefix { $0 != UInt8(ascii: "/") }
        return segment.contains(UInt8(ascii: ":")) ? "./" + rest : rest
    }
}

extension SourceURL {
    /// Returns the relative reference to a path in a folder, with special bytes percent-encoded.
    ///
    /// A slash stays as it is.
    static func reference(toName name: String) -> String {
        var text = Array("./".utf8)
        for byte in name.utf8 {
            // Some servers, such as S3, read a plus sign as a space. apt encodes the sign too.
            if PercentEncoding.isPathByte(byte), byte != UInt8(ascii: "+") {
                text.append(byte)
            } else {
                PercentEncoding.append(byte, to: &text)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns a text as the value of a query, with special bytes percent-encoded.
    static func queryValue(_ text: String) -> String {
        var value: [UInt8] = []
        for byte in text.utf8 {
            let isPlain = PercentEncoding.isPathByte(byte) && !"+&=;".utf8.contains(byte)
            if isPlain { value.append(byte) } else { PercentEncoding.append(byte, to: &value) }
        }
        return String(decoding: value, as: UTF8.self)
    }

    /// Replaces each `%XX` of a text by its byte. Returns nil if the bytes are not UTF-8.
    static func decoded(_ text: some StringProtocol) -> String? {
        String(validating: PercentEncoding.decode(Array(text.utf8)), as: UTF8.self)
    }
}

extension SourceURL {
    /// Creates the `file:` URL of a folder, ending in `/`, to resolve references against.
    ///
    /// Returns nil if the path is not absolute or has a NUL.
    public init?(folder path: String) {
        self.init(file: path.utf8.last == UInt8(ascii: "/") ? path : path + "/")
    }

    /// Creates the `file:` URL of a file. Returns nil if the path is not absolute or has a NUL.
    public init?(file path: String) {
        guard path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) else { return nil }
        var text: [UInt8] = []
        for byte in path.utf8 {
            if PercentEncoding.isPathByte(byte) {
                text.append(byte)
            } else {
                PercentEncoding.append(byte, to: &text)
            }
        }
        self.init(
            URLAuthority(Origin(scheme: .file, host: "", port: 0)),
            pathAndQuery: String(decoding: DotSegments.remove(from: text), as: UTF8.self))
    }

    /// The path of a `file:` URL in the file system. `nil` for another scheme.
    public var filePath: String? {
        guard scheme == .file else { return nil }
        return String(decoding: PercentEncoding.decode(path.utf8), as: UTF8.self)
    }

    /// The last path segment, percent-decoded. `nil` means that no file can have that name.
    public var lastSegment: String? {
        let start = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) }
        let bytes = PercentEncoding.decode(path.utf8[(start ?? path.startIndex)...])
        guard !bytes.isEmpty, bytes.count <= 255, !bytes.contains(UInt8(ascii: "/")),
            !bytes.elementsEqual(".".utf8), !bytes.elementsEqual("..".utf8),
            let name = String(validating: bytes, as: UTF8.self)
        else { return nil }
        let hasControl = name.unicodeScalars.contains {
            $0.value < 0x20 || (0x7F..<0xA0).contains($0.value)
        }
        return hasControl ? nil : name
    }
}

/// Scheme, user, host and port. URLs that differ in path and query only share one object.
final class URLAuthority: Sendable {
    let origin: Origin
    let userInfo: String?
    /// The origin as text, stored because each transfer reads it several times.
    let site: String
    /// A hash of host and port, stored because the requests for many files go to one authority.
    let serverHash: Int

    init(_ origin: Origin, userInfo: String? = nil) {
        self.origin = origin
        self.userInfo = userInfo
        site = origin.description
        var hasher = Hasher()
        hasher.combine(origin.host)
        hasher.combine(origin.port)
        serverHash = hasher.finalize()
    }
}

extension URLAuthority: Hashable {
    static func == (one: URLAuthority, other: URLAuthority) -> Bool {
        one === other || (one.origin == other.origin && one.userInfo == other.userInfo)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(origin)
        hasher.combine(userInfo)
    }
}
