/// The directives of a response's Cache-Control that a private cache obeys (RFC 9111 §5.2.2).
package struct CacheControl: Sendable, Hashable {
    /// `no-store` or `no-cache`: every use is confirmed first.
    package private(set) var alwaysConfirms = false
    /// `max-age` in seconds; 0 when it was malformed or sent twice with different values (§4.2.1).
    package private(set) var maxAge: Int64?

    /// Reads the joined lines of the field; unknown directives are skipped.
    package init(_ bytes: some Sequence<UInt8>) {
        var scan = FieldScanner(bytes)
        while !scan.isAtEnd {
            scan.skipSpaces()
            if let name = scan.token()?.lowercased() {
                scan.skipSpaces()
                var argument: String?
                if scan.take(UInt8(ascii: "=")) {
                    scan.skipSpaces()
                    argument =
                        scan.quotedString().map { String(decoding: $0, as: UTF8.self) }
                        ?? scan.token() ?? ""
                }
                take(name, argument)
            }
            _ = scan.upTo { $0 == UInt8(ascii: ",") }
            _ = scan.take(UInt8(ascii: ","))
        }
    }

    private mutating func take(_ name: String, _ argument: String?) {
        switch name {
        // With an argument, no-cache applies to single fields only. Many caches ignore the argument
        // too.
        case "no-store", "no-cache": alwaysConfirms = true
        case "max-age":
            let digits = (argument ?? "").utf8
            let isNumber = !digits.isEmpty && digits.allSatisfy { (0x30...0x39).contains($0) }
            // A number that does not fit means for ever (§1.2.2).
            let value = isNumber ? DecimalDigits.value(of: digits) ?? .max : 0
            maxAge = maxAge.map { $0 == value ? value : 0 } ?? value
        default: break
        }
    }
}

extension ResponseHead {
    /// Whether `Vary: *` rules the response out for every later request (RFC 9111 §4.1).
    private var variesByEverything: Bool {
        list(of: .vary).split(separator: UInt8(ascii: ",")).contains { member in
            member.filter { $0 != 0x20 && $0 != 0x09 } == [UInt8(ascii: "*")]
        }
    }

    /// When the response stops being fresh (RFC 9111 §4.2); nil when it does not say.
    ///
    /// - Parameter received: when the head arrived, by the local clock.
    public func freshUntil(received: Instant) -> Instant? {
        let control = CacheControl(list(of: .cacheControl))
        if control.alwaysConfirms || variesByEverything { return received }
        let lifetime: Int64
        if let maxAge = control.maxAge {
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
