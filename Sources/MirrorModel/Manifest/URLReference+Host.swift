extension URLReference.Authority {
    /// Reads `user:password@host:port`; a bracketed host is an IPv6 address (RFC 3986 §3.2).
    init(_ bytes: ArraySlice<UInt8>) throws(URLFlaw.Reason) {
        var rest = bytes
        if let mark = rest.lastIndex(of: UInt8(ascii: "@")) {
            let user = rest[..<mark]
            // `https://trusted.example@evil.example@host` is read differently by every parser.
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
                let address = IPv6Address(rest[(rest.startIndex + 1)..<close])
            else { throw .host(text) }
            host = address.description
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
    private static func name(_ bytes: ArraySlice<UInt8>) throws(URLFlaw.Reason) -> String {
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

    static func isOctet(_ label: ArraySlice<UInt8>) -> Bool {
        guard (1...3).contains(label.count), label.allSatisfy(isDigit) else { return false }
        if label.count > 1, label.first == UInt8(ascii: "0") { return false }
        return label.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } < 256
    }
}

/// An IPv6 address, written in its one canonical form (RFC 4291 §2.2, RFC 5952 §4).
struct IPv6Address: CustomStringConvertible {
    private var groups: [UInt16] = []

    /// Reads an address without brackets and zone; nil when it is malformed.
    init?(_ bytes: ArraySlice<UInt8>) {
        let parts = bytes.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count >= 3, parts.count <= 9 else { return nil }
        var gap: Int?
        for (position, part) in parts.enumerated() {
            if part.isEmpty {
                let isEdge = position == 0 || position == parts.count - 1
                // A component at the edge is empty only beside the gap: `::1`, `1::`, `::`.
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
                guard octets.count == 4, octets.allSatisfy(URLReference.Authority.isOctet)
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
        guard groups.count == 8 else { return nil }
    }

    /// The address in lower case, without leading zeros, the first longest run of zeros as `::`.
    var description: String {
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
