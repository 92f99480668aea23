/// The parts of a URL or relative reference, each checked and none resolved (RFC 3986 §4.1).
struct URLReference {
    /// The authority: the text between `//` and the path.
    struct Authority: Equatable {
        var userInfo: String?
        var host = ""
        var port: UInt16?
    }

    var scheme: URLScheme?
    var authority: Authority?
    /// The path, percent-encoded where necessary.
    var path: [UInt8]
    /// The query without the question mark, percent-encoded where necessary.
    var query: [UInt8]?

    init(_ text: String) throws(SourceURLError.Reason) {
        if text.isEmpty { throw .empty }
        let bytes = Array(text.utf8)
        if bytes.count > SourceURL.longestText { throw .long(bytes: bytes.count) }
        if let flaw = URLReference.forbiddenCharacter(bytes, text) { throw flaw }

        var rest = bytes[...]
        if let mark = rest.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<mark] }
        if let colon = URLReference.schemeEnd(rest) {
            let name = String(decoding: rest[..<colon], as: UTF8.self).lowercased()
            guard let known = URLScheme(rawValue: name) else { throw .scheme(name) }
            scheme = known
            rest = rest[(colon + 1)...]
        }
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            query = URLReference.encode(rest[(mark + 1)...])
            rest = rest[..<mark]
        }
        if rest.starts(with: "//".utf8) {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            authority = try Authority(rest[..<end])
            rest = rest[end...]
        } else if scheme != nil, scheme != .file {
            throw .missingHost
        }
        path = URLReference.encode(rest)
    }

    /// Returns the position of the colon that ends the scheme, or nil if there is no scheme.
    ///
    /// Only characters of a scheme may stand before the colon.
    private static func schemeEnd(_ bytes: ArraySlice<UInt8>) -> Int? {
        for (at, byte) in zip(bytes.indices, bytes) {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
                continue
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"),
                UInt8(ascii: "."):
                if at == bytes.startIndex { return nil }
            case UInt8(ascii: ":"): return at > bytes.startIndex ? at : nil
            default: return nil
            }
        }
        return nil
    }

    /// Percent-encodes characters outside ASCII. The caller has checked all others.
    private static func encode(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        if bytes.allSatisfy({ $0 < 0x80 }) { return Array(bytes) }
        var text: [UInt8] = []
        for byte in bytes {
            if byte < 0x80 { text.append(byte) } else { PercentEncoding.append(byte, to: &text) }
        }
        return text
    }

    private static func forbiddenCharacter(_ bytes: [UInt8], _ text: String) -> SourceURLError
        .Reason?
    {
        var isASCII = true
        for at in bytes.indices {
            let byte = bytes[at]
            if byte >= 0x80 { isASCII = false }
            if byte == UInt8(ascii: "%") {
                guard at + 2 < bytes.count, Hex.value(of: bytes[at + 1]) != nil,
                    Hex.value(of: bytes[at + 2]) != nil
                else { return .percent }
            } else if byte < 0x80, !PercentEncoding.isPathByte(byte), byte != UInt8(ascii: "?"),
                byte != UInt8(ascii: "#"), byte != UInt8(ascii: "["), byte != UInt8(ascii: "]")
            {
                return .character(Unicode.Scalar(byte))
            }
        }
        if isASCII { return nil }
        // C1 controls are two bytes of UTF-8 and would reach logs unescaped.
        let control = text.unicodeScalars.first { (0x80..<0xA0).contains($0.value) }
        return control.map { .character($0) }
    }
}

// Strict parsing of URLs and references to them (RFC 3986).
// mirror refuses what a lenient parser would repair, and names the right spelling. If two parsers
// repair a text differently, a request can go to an unchecked host.

extension SourceURL {
    /// The greatest length of a URL's text in bytes.
    public static let longestText = 16384

    /// Reads an absolute URL, or a reference resolved against a base (RFC 3986 §5.2).
    ///
    /// The fragment is dropped, characters outside ASCII in path and query are percent-encoded as
    /// UTF-8, and dot segments, `%2E` included, are removed.
    public init(_ text: String, relativeTo base: SourceURL? = nil) throws(SourceURLError) {
        do throws(SourceURLError.Reason) { try self.init(reading: text, relativeTo: base) } catch {
            throw SourceURLError(text, error)
        }
    }

    private init(reading text: String, relativeTo base: SourceURL?) throws(SourceURLError.Reason) {
        let reference = try URLReference(text)
        if let scheme = reference.scheme {
            try self.init(scheme: scheme, reference, authority: reference.authority)
            return
        }
        guard let base else { throw .relativeWithoutBase }
        if let authority = reference.authority {
            try self.init(scheme: base.scheme, reference, authority: authority)
            return
        }
        let path: [UInt8]
        var query = reference.query
        if reference.path.isEmpty {
            path = Array(base.path.utf8)
            query = query ?? base.query.map { Array($0.utf8) }
        } else if reference.path.first == UInt8(ascii: "/") {
            path = DotSegments.remove(from: reference.path)
        } else {
            path = DotSegments.remove(from: base.merged(with: reference.path))
        }
        self.init(base.authority, path: path, query: query)
        try checkFilePath()
    }

    private init(
        scheme: URLScheme, _ reference: URLReference, authority: URLReference.Authority?
    ) throws(SourceURLError.Reason) {
        let authority = authority ?? URLReference.Authority()
        if scheme == .file {
            guard reference.authority != nil || reference.path.first == UInt8(ascii: "/") else {
                throw .file("a file URL is absolute; write file:///folder/name")
            }
            guard authority.host.isEmpty || authority.host == "localhost",
                authority.userInfo == nil, authority.port == nil
            else { throw .file("a file URL has no host; write file:///folder/name") }
        } else if authority.host.isEmpty {
            throw .missingHost
        }
        if scheme == .s3 {
            guard authority.userInfo == nil, authority.port == nil, reference.query == nil else {
                throw .file("an S3 URL is s3://bucket/key, without a user, a port or a query")
            }
        }
        var path = DotSegments.remove(from: reference.path)
        if path.isEmpty { path = [UInt8(ascii: "/")] }
        let origin = Origin(
            scheme: scheme, host: scheme == .file ? "" : authority.host,
            port: authority.port ?? scheme.defaultPort)
        self.init(
            URLAuthority(origin, userInfo: authority.userInfo), path: path,
            query: reference.query)
        try checkFilePath()
    }

    private func checkFilePath() throws(SourceURLError.Reason) {
        guard scheme == .file else { return }
        guard query == nil else {
            throw .file("a file URL has no query; write %3F for a question mark")
        }
        // A list may have a million URLs, and text without escapes is one that a file can have.
        guard withPathAndQuery({ $0.contains(UInt8(ascii: "%")) }) else { return }
        for segment in path.utf8.split(separator: UInt8(ascii: "/")) {
            let bytes = PercentEncoding.decode(segment)
            guard !bytes.contains(0), !bytes.contains(UInt8(ascii: "/")),
                String(validating: bytes, as: UTF8.self) != nil
            else { throw .file("its path is none that a file can have") }
        }
    }
}

/// Dot segments of paths (RFC 3986 §5.2.4).
enum DotSegments {
    /// Returns an absolute path without `.` and `..`, in either case of their percent-encodings.
    static func remove(from path: [UInt8]) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        // Most paths have no dot segment, and a manifest may have a million of them.
        if !mayHaveDotSegment(path) { return path }
        var kept: [ArraySlice<UInt8>] = []
        let segments = path.split(separator: slash, omittingEmptySubsequences: false).dropFirst()
        for (position, segment) in segments.enumerated() {
            let isLast = position == segments.count - 1
            switch dots(in: segment) {
            case 1: if isLast { kept.append([]) }
            case 2:
                _ = kept.popLast()
                if isLast { kept.append([]) }
            default: kept.append(segment)
            }
        }
        return kept.reduce(into: []) { result, segment in
            result.append(slash)
            result += segment
        }
    }

    private static func mayHaveDotSegment(_ path: [UInt8]) -> Bool {
        var afterSlash = false
        for byte in path {
            if afterSlash, byte == UInt8(ascii: ".") || byte == UInt8(ascii: "%") { return true }
            afterSlash = byte == UInt8(ascii: "/")
        }
        return false
    }

    /// Returns the number of dots: 1 for `.`, 2 for `..`, 0 for any other segment.
    private static func dots(in segment: ArraySlice<UInt8>) -> Int {
        guard segment.count <= 6 else { return 0 }
        let decoded = PercentEncoding.decode(segment)
        guard !decoded.isEmpty, decoded.count <= 2 else { return 0 }
        return decoded.allSatisfy { $0 == UInt8(ascii: ".") } ? decoded.count : 0
    }
}

extension URLReference.Authority {
    /// Reads `user:password@host:port` (RFC 3986 §3.2). A host in brackets is an IPv6 address.
    init(_ bytes: ArraySlice<UInt8>) throws(SourceURLError.Reason) {
        var rest = bytes
        if let mark = rest.lastIndex(of: UInt8(ascii: "@")) {
            let user = rest[..<mark]
            // Parsers read `https://trusted.example@evil.example@host` in different ways.
            guard !user.contains(UInt8(ascii: "@")), !user.contains(UInt8(ascii: "[")),
                !user.contains(UInt8(ascii: "]")), user.allSatisfy({ $0 < 0x80 })
            else { throw .host(String(decoding: rest[rest.index(after: mark)...], as: UTF8.self)) }
            userInfo = String(decoding: user, as: UTF8.self)
            rest = rest[rest.index(after: mark)...]
        }
        let hostEnd: Int
        if rest.first == UInt8(ascii: "[") {
            let text = String(decoding: rest, as: UTF8.self)
            guard let close = rest.firstIndex(of: UInt8(ascii: "]")),
                let groups = Self.groups(ofIPv6: rest[(rest.startIndex + 1)..<close])
            else { throw .host(text) }
            host = Self.text(ofIPv6: groups)
            hostEnd = close + 1
        } else {
            hostEnd = rest.firstIndex(of: UInt8(ascii: ":")) ?? rest.endIndex
            host = try Self.name(rest[..<hostEnd])
        }
        let tail = rest[hostEnd...]
        guard !tail.isEmpty else { return }
        let digits = tail.dropFirst()
        guard tail.first == UInt8(ascii: ":") else {
            throw .host(String(decoding: rest, as: UTF8.self))
        }
        // RFC 3986 allows an empty port, which means the scheme's own.
        if digits.isEmpty { return }
        guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = UInt16(String(decoding: digits, as: UTF8.self)), number > 0
        else { throw .port(String(decoding: digits, as: UTF8.self)) }
        port = number
    }

    /// A DNS name or a dotted IPv4 address, in lower case.
    private static func name(_ bytes: ArraySlice<UInt8>) throws(SourceURLError.Reason) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        guard bytes.allSatisfy({ $0 < 0x80 }) else { throw .hostOutsideASCII(text) }
        if bytes.isEmpty { return "" }
        var labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        if labels.count > 1, labels.last?.isEmpty == true { labels.removeLast() }
        guard bytes.count <= 254, labels.allSatisfy(isLabel) else { throw .host(text) }
        // Every resolver reads a name that ends in a number as an address. Some also read 0x7f.1
        // and 010.0.0.1 as addresses, so these are refused.
        if let last = labels.last,
            last.allSatisfy(isDigit) || last.starts(with: "0x".utf8)
                || last.starts(with: "0X".utf8)
        {
            guard labels.count == 4, labels.allSatisfy(isOctet) else { throw .host(text) }
        }
        return text.lowercased()
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isLabel(_ label: ArraySlice<UInt8>) -> Bool {
        guard (1...63).contains(label.count) else { return false }
        return label.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    private static func isOctet(_ label: ArraySlice<UInt8>) -> Bool {
        guard (1...3).contains(label.count), label.allSatisfy(isDigit) else { return false }
        if label.count > 1, label.first == UInt8(ascii: "0") { return false }
        return label.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } < 256
    }
}

// MARK: IPv6 addresses (RFC 4291 §2.2, RFC 5952 §4)

extension URLReference.Authority {
    /// Returns the eight groups of an address without brackets and zone.
    /// Returns nil if the address is malformed.
    private static func groups(ofIPv6 bytes: ArraySlice<UInt8>) -> [UInt16]? {
        var groups: [UInt16] = []
        let parts = bytes.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count >= 3, parts.count <= 9 else { return nil }
        var gap: Int?
        for (position, part) in parts.enumerated() {
            if part.isEmpty {
                let isEdge = position == 0 || position == parts.count - 1
                // A component at either end is empty only beside the gap: `::1`, `1::`, `::`.
                if isEdge {
                    let neighbour = position == 0 ? parts[1] : parts[parts.count - 2]
                    guard neighbour.isEmpty else { return nil }
                } else {
                    guard gap == nil else { return nil }
                    gap = groups.count
                }
            } else if position == parts.count - 1, part.contains(UInt8(ascii: ".")) {
                let octets = part.split(
                    separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
                guard octets.count == 4, octets.allSatisfy(isOctet)
                else { return nil }
                let values = octets.compactMap { UInt16(String(decoding: $0, as: UTF8.self)) }
                groups += [values[0] << 8 | values[1], values[2] << 8 | values[3]]
            } else {
                guard part.count <= 4, part.allSatisfy({ Hex.value(of: $0) != nil }),
                    let value = UInt16(String(decoding: part, as: UTF8.self), radix: 16)
                else { return nil }
                groups.append(value)
            }
        }
        if let gap {
            guard groups.count < 8 else { return nil }
            groups.insert(contentsOf: Array(repeating: 0, count: 8 - groups.count), at: gap)
        }
        return groups.count == 8 ? groups : nil
    }

    /// Returns the canonical form of an address (RFC 5952 §4).
    ///
    /// The form is in lower case, without leading zeros, and with `::` for the first longest run of
    /// zeros.
    private static func text(ofIPv6 groups: [UInt16]) -> String {
        var best = 0..<0
        var at = 0
        while at < 8 {
            let end = groups[at...].firstIndex { $0 != 0 } ?? 8
            if end - at > best.count, end - at > 1 { best = at..<end }
            at = max(end, at + 1)
        }
        let text = { (slice: ArraySlice<UInt16>) in
            slice.map { String($0, radix: 16) }.joined(separator: ":")
        }
        if best.isEmpty { return text(groups[...]) }
        return text(groups[..<best.lowerBound]) + "::" + text(groups[best.upperBound...])
    }
}

/// The error for a text that is not the URL of a source.
public struct SourceURLError: Error, Sendable, Hashable {
    /// The text in quotation marks, without the parts that may be secret.
    private let quoted: String
    /// Why the text is not the URL of a source.
    let reason: Reason

    init(_ text: String, _ reason: Reason) {
        (quoted, self.reason) = (Quoted(url: text).description, reason)
    }

    /// Why a text is not the URL of a source.
    enum Reason: Error, Sendable, Hashable {
        /// The text is empty.
        case empty
        /// The text has a scheme other than http, https and file. The value is that scheme.
        case scheme(String)
        /// The text is relative, and there is no base to resolve it against.
        case relativeWithoutBase
        /// The text has no host, which http and https need.
        case missingHost
        /// The host is not valid: a bad name, or a malformed address literal.
        case host(String)
        /// The host has characters outside ASCII, and is not written in its `xn--` form.
        case hostOutsideASCII(String)
        /// The port is not a number from 1 to 65535.
        case port(String)
        /// The text has a character that must be percent-encoded, or that no URL may have.
        case character(Unicode.Scalar)
        /// The text has a `%` without two hexadecimal digits.
        case percent
        /// The text is a `file` URL with a host, a query, a relative path, or a path that no file
        /// can have.
        case file(String)
        /// The text is longer than `SourceURL.longestText`.
        case long(bytes: Int)
    }
}

extension SourceURLError: CustomStringConvertible {
    /// The text, then the error and its remedy.
    public var description: String { "\(quoted): \(reason)" }
}

extension SourceURLError.Reason: CustomStringConvertible {
    /// The error and its remedy, as the end of a sentence.
    var description: String {
        switch self {
        case .empty: "it is empty; write an http or https URL"
        case .scheme(let scheme):
            "\(Quoted(scheme)) is not a scheme that mirror fetches from; write https://, http:// or s3://"
        case .relativeWithoutBase:
            "it is relative and there is nothing to resolve it against; add a base or write it whole"
        case .missingHost: "it has no host; write https://host/path"
        case .host(let host): "\(Quoted(host)) is not a host name or an address"
        case .hostOutsideASCII(let host):
            "the host \(Quoted(host)) is not ASCII; write its xn-- form"
        case .port(let port): "the port \(Quoted(port)) is not a number from 1 to 65535"
        case .character(let scalar): Self.advice(on: scalar)
        case .percent: "it has a % without two hexadecimal digits; write %25 for a percent sign"
        case .file(let reason): reason
        case .long(let bytes):
            "it has \(bytes) bytes, more than the \(SourceURL.longestText) that mirror takes"
        }
    }

    private static func advice(on scalar: Unicode.Scalar) -> String {
        switch scalar.value {
        case 0x20: "it has a space; write %20"
        case 0x5C: "it has a backslash; write / between segments, or %5C"
        case 0..<0x20, 0x7F..<0xA0: "it has a control character"
        default: "it has a \(Quoted(String(scalar))); write \(PercentEncoding.encode(scalar))"
        }
    }
}

/// Finds the host of a URL without its scheme, such as `www.example.com/x`.
///
/// The grammar of URLs reads such a text as a relative path.
enum BareHost {
    /// Returns the host, with its port, at the beginning of a reference.
    /// Returns nil if there is none.
    ///
    /// A text with a port or with `www.` at its beginning is a host. So is one that ends in a
    /// domain that no folder name has.
    static func find(in reference: String) -> String? {
        if reference.utf8.first == UInt8(ascii: "/") { return nil }
        let start = Substring(reference.utf8.prefix { $0 != UInt8(ascii: "/") })
        guard start.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":") })
        else { return nil }
        // Text before an @ may be a password, which no message may show.
        if start.utf8.contains(UInt8(ascii: "@")) { return nil }
        let isFolder = start.utf8.count < reference.utf8.count
        let (host, port) = start.halves(atLast: ":") ?? (start, "")
        let isPort = !port.isEmpty && port.utf8.allSatisfy { (0x30...0x39).contains($0) }
        let lowered = host.lowercased()
        if isPort, lowered == "localhost" || lowered.utf8.contains(UInt8(ascii: ".")) {
            return String(start)
        }
        guard isFolder, port.isEmpty else { return nil }
        return Array(lowered.utf8).withUnsafeBufferPointer { isHost($0) } ? String(start) : nil
    }

    /// Whether the first of several components of a path looks like a host.
    ///
    /// The component must be in lower case.
    static func isHost(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > 0 else { return false }
        if name.starts(with: "www.".utf8) { return dot > 3 }
        let domain = name[(dot + 1)...]
        return domains.contains { domain.elementsEqual($0) }
    }

    private static let domains: [[UInt8]] = ["com", "org", "net", "edu", "gov", "io", "dev"]
        .map { Array($0.utf8) }
}
