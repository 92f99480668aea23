// The meaning of single fields of a response.

// MARK: Freshness

extension ResponseHead {
    /// What Cache-Control says to a private cache (RFC 9111 §5.2.2), without unknown directives.
    ///
    /// `alwaysConfirms`: `no-store` or `no-cache` came, so every use needs a confirmation first.
    /// `maxAge`: seconds; nil without max-age, 0 if malformed or sent with different values
    /// (§4.2.1).
    var cacheControl: (alwaysConfirms: Bool, maxAge: Int64?) {
        var (alwaysConfirms, maxAge) = (false, Int64?.none)
        var scan = FieldScanner(list(of: .cacheControl))
        while !scan.isAtEnd {
            scan.skipSpaces()
            if let name = scan.token()?.lowercased() {
                scan.skipSpaces()
                var argument = ""
                if scan.take(UInt8(ascii: "=")) {
                    scan.skipSpaces()
                    argument =
                        scan.quotedString().map { String(decoding: $0, as: UTF8.self) }
                        ?? scan.token() ?? ""
                }
                switch name {
                // With an argument, no-cache applies to single fields only. Many caches ignore the
                // argument, and so does mirror.
                case "no-store", "no-cache": alwaysConfirms = true
                case "max-age":
                    let isNumber =
                        !argument.isEmpty && argument.utf8.allSatisfy { (0x30...0x39).contains($0) }
                    // A number that does not fit means for ever (§1.2.2).
                    let value = isNumber ? DecimalDigits.value(of: argument.utf8) ?? .max : 0
                    maxAge = maxAge.map { $0 == value ? value : 0 } ?? value
                default: break
                }
            }
            _ = scan.upTo { $0 == UInt8(ascii: ",") }
            _ = scan.take(UInt8(ascii: ","))
        }
        return (alwaysConfirms, maxAge)
    }

    /// Whether `Vary: *` rules the response out for every later request (RFC 9111 §4.1).
    private var variesByEverything: Bool {
        list(of: .vary).split(separator: UInt8(ascii: ",")).contains { member in
            member.filter { $0 != 0x20 && $0 != 0x09 } == [UInt8(ascii: "*")]
        }
    }

    /// When the response stops being fresh (RFC 9111 §4.2); nil if the response does not say.
    ///
    /// - Parameter received: when the head arrived, by the local clock.
    func freshUntil(received: Instant) -> Instant? {
        let (alwaysConfirms, maxAge) = cacheControl
        if alwaysConfirms || variesByEverything { return received }
        let lifetime: Int64
        if let maxAge {
            lifetime = maxAge
        } else if has(.expires) {
            // "0" and other malformed dates mean the past (§5.3).
            guard let expires = date(of: .expires) else { return received }
            lifetime = max(0, expires.seconds - (date?.seconds ?? received.seconds))
        } else {
            return nil
        }
        let sentAge = single(.age).flatMap { DecimalDigits.value(of: $0.utf8) } ?? 0
        let apparentAge = date.map { max(0, received.seconds - $0.seconds) } ?? 0
        let (rest, overflow) = lifetime.subtractingReportingOverflow(max(sentAge, apparentAge))
        return received.advanced(bySeconds: overflow ? 0 : max(0, rest))
    }
}

// MARK: Content-Disposition

extension ResponseHead {
    /// The file name that the server suggests (RFC 6266), without folders.
    ///
    /// Nil if no suggested name could name a file. `filename*` (RFC 8187) takes precedence over
    /// `filename`. Both slashes separate components, as §4.3 warns. The name is not yet a target:
    /// the caller checks it like any other component.
    var suggestedName: String? {
        guard has(.contentDisposition) else { return nil }
        var scan = FieldScanner(list(of: .contentDisposition))
        scan.skipSpaces()
        guard scan.token() != nil else { return nil }
        var plain: String?
        var extended: String?
        while true {
            scan.skipSpaces()
            guard scan.take(UInt8(ascii: ";")) else { break }
            scan.skipSpaces()
            guard let name = scan.token()?.lowercased() else { continue }
            scan.skipSpaces()
            guard scan.take(UInt8(ascii: "=")) else { continue }
            scan.skipSpaces()
            // Servers send names with spaces unquoted, and Windows paths unescaped.
            let value =
                scan.quotedString(keepsBackslashes: true)
                ?? Array(scan.upTo { $0 == UInt8(ascii: ";") }.trimmingBlanks)
            if name == "filename" { plain = plain ?? text(value) }
            if name == "filename*" { extended = extended ?? decodeExtended(value) }
        }
        return (extended ?? plain).flatMap(lastComponent)
    }
}

private func text(_ bytes: [UInt8]) -> String {
    // Text that is not UTF-8 is read as ISO-8859-1, whose bytes are code points.
    String(validating: bytes, as: UTF8.self)
        ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
}

/// Decodes `charset'language'percent-encoded` (RFC 8187). Returns nil if that fails.
private func decodeExtended(_ bytes: [UInt8]) -> String? {
    let parts = bytes.split(
        separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    var decoded: [UInt8] = []
    var rest = parts[2]
    while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "%") else {
            decoded.append(byte)
            continue
        }
        guard let pair = Hex.decode(rest.prefix(2)), let value = pair.first else { return nil }
        decoded.append(value)
        rest = rest.dropFirst(2)
    }
    switch String(decoding: parts[0], as: UTF8.self).lowercased() {
    case "utf-8": return String(validating: decoded, as: UTF8.self)
    case "iso-8859-1": return String(String.UnicodeScalarView(decoded.map { .init($0) }))
    default: return nil
    }
}

private func lastComponent(_ name: String) -> String? {
    let separators = [UInt8(ascii: "/"), UInt8(ascii: "\\")]
    let start = name.utf8.lastIndex { separators.contains($0) }
    let last = start.map { String(name[name.utf8.index(after: $0)...]) } ?? name
    return last.isEmpty || last == "." || last == ".." ? nil : last
}

extension ArraySlice<UInt8> {
    /// The bytes without spaces and tabs at their end.
    fileprivate var trimmingBlanks: Self {
        prefix((lastIndex { !isBlank($0) } ?? startIndex - 1) - startIndex + 1)
    }
}

// MARK: Repr-Digest

extension ResponseHead {
    /// The sha-256 and sha-512 of the whole file that the server sends, strongest first.
    ///
    /// They come in Repr-Digest (RFC 9530 §3). A field that is not a dictionary of structured
    /// fields (RFC 8941 §4.2) is ignored as a whole.
    var reprDigests: [Digest] {
        guard has(.reprDigest) else { return [] }
        var scan = FieldScanner(list(of: .reprDigest))
        var found: [DigestAlgorithm: Digest] = [:]
        scan.skipSpaces()
        while !scan.isAtEnd {
            guard let member = reprMember(&scan) else { return [] }
            if let algorithm = reprAlgorithms[member.key] {
                found[algorithm] = member.bytes.flatMap { Digest(algorithm, bytes: $0) }
            }
            scan.skipSpaces()
            if scan.isAtEnd { break }
            guard scan.take(UInt8(ascii: ",")) else { return [] }
            scan.skipSpaces()
            if scan.isAtEnd { return [] }
        }
        return found.values.sorted { $0.algorithm > $1.algorithm }
    }
}

private let reprAlgorithms: [String: DigestAlgorithm] = [
    "sha-256": .sha256, "sha-512": .sha512,
]

private func reprMember(_ scan: inout FieldScanner) -> (key: String, bytes: [UInt8]?)? {
    guard let key = scan.token() else { return nil }
    guard scan.take(UInt8(ascii: "=")) else { return parameters(&scan) ? (key, nil) : nil }
    var bytes: [UInt8]?
    if scan.take(UInt8(ascii: ":")) {
        bytes = Base64.decode(scan.upTo { $0 == UInt8(ascii: ":") })
        guard bytes != nil, scan.take(UInt8(ascii: ":")) else { return nil }
    } else if scan.quotedString() == nil {
        // A value of another type, under a key that mirror does not read.
        guard !scan.upTo({ [0x2C, 0x3B, 0x20, 0x09].contains($0) }).isEmpty else { return nil }
    }
    return parameters(&scan) ? (key, bytes) : nil
}

private func parameters(_ scan: inout FieldScanner) -> Bool {
    while scan.take(UInt8(ascii: ";")) {
        scan.skipSpaces()
        guard scan.token() != nil else { return false }
        if scan.take(UInt8(ascii: "=")), scan.quotedString() == nil {
            _ = scan.upTo { [0x2C, 0x3B, 0x20, 0x09].contains($0) }
        }
    }
    return true
}

// MARK: Link

extension ResponseHead {
    /// The target of the first link with the relation `next`, as it was sent (RFC 8288 §3).
    ///
    /// Nil if there is no such link.
    var nextPage: String? {
        guard has(.link) else { return nil }
        let text = String(decoding: list(of: .link), as: UTF8.self)
        for (target, parameters) in links(in: text) {
            let relations = parameters.compactMap { parameter -> Substring? in
                guard let (name, value) = parameter.halves(atFirst: "="),
                    String(name).trimmingSpaces().lowercased() == "rel"
                else { return nil }
                return value
            }
            // A second `rel` is ignored (§3.3).
            guard let relation = relations.first else { continue }
            let words = relation.lowercased().split { " \t\"".contains($0) }
            if words.contains("next") { return String(target) }
        }
        return nil
    }
}

/// Returns the targets and the parameters of all links.
///
/// A comma or semicolon in quotation marks or in a target separates nothing.
private func links(in text: String) -> [(target: Substring, parameters: [Substring])] {
    var links: [(Substring, [Substring])] = []
    var rest = text[...]
    while let (_, behind) = rest.halves(atFirst: "<"),
        let (target, tail) = behind.halves(atFirst: ">")
    {
        var (isQuoted, start, parameters) = (false, tail.startIndex, [Substring]())
        var at = tail.startIndex
        while at < tail.endIndex {
            let byte = tail.utf8[at]
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            if !isQuoted, byte == UInt8(ascii: ",") { break }
            if !isQuoted, byte == UInt8(ascii: ";") {
                parameters.append(tail[start..<at])
                start = tail.utf8.index(after: at)
            }
            at = tail.utf8.index(after: at)
        }
        parameters.append(tail[start..<at])
        links.append((target, parameters))
        rest = tail[at...]
    }
    return links
}
