/// A request to a served tree, as far as the answer depends on it.
package struct ServedRequest: Sendable, Hashable {
    /// A header field that an answer depends on.
    package enum Field: Int, Sendable, Hashable, CaseIterable {
        case accept, host, ifMatch, ifModifiedSince, ifNoneMatch, ifRange, ifUnmodifiedSince, range

        /// Finds the name in any case; nil for other fields.
        package init?(_ name: UnsafeBufferPointer<UInt8>) {
            // The length alone rules out nearly every field.
            let field: Field? =
                switch name.count {
                case 4: .host
                case 5: .range
                case 6: .accept
                case 8: name[3] | 0x20 == UInt8(ascii: "m") ? .ifMatch : .ifRange
                case 13: .ifNoneMatch
                case 17: .ifModifiedSince
                case 19: .ifUnmodifiedSince
                default: nil
                }
            guard let field, zip(name, field.text.utf8).allSatisfy({ $0 | 0x20 == $1 | 0x20 })
            else { return nil }
            self = field
        }

        private var text: String {
            switch self {
            case .accept: "accept"
            case .host: "host"
            case .ifMatch: "if-match"
            case .ifModifiedSince: "if-modified-since"
            case .ifNoneMatch: "if-none-match"
            case .ifRange: "if-range"
            case .ifUnmodifiedSince: "if-unmodified-since"
            case .range: "range"
            }
        }
    }

    /// The method, e.g. `GET`.
    package var method: String
    /// The path of the target as it was sent.
    package var path: String
    /// The name behind which a listing goes on, percent-encoded; from the query `after=NAME`.
    package var after: String?
    /// Whether its version of HTTP demands a Host field: 1.1 does, 1.0 does not.
    package var needsHost = false
    private var fields: [Field: String] = [:]

    /// A request without header fields.
    package init(method: String, path: String, after: String? = nil) {
        self.method = method
        self.path = path
        self.after = after
    }

    /// A field's value; the values of repeated fields are joined by commas (RFC 9110 §5.3).
    package subscript(field: Field) -> String? { fields[field] }

    /// Whether it names its host as it must: HTTP/1.1 with one Host field (RFC 9112 §3.2).
    package var namesOneHost: Bool {
        guard let host = self[.host] else { return !needsHost }
        return !host.utf8.contains(UInt8(ascii: ","))
    }

    /// Adds a field.
    package mutating func add(_ field: Field, _ value: String) {
        if let known = fields[field] {
            fields[field] = known + ", " + value
        } else {
            fields[field] = value
        }
    }

    /// Whether the request is for a program that wants JSON more than HTML (RFC 9110 §12.5.1).
    package var prefersJSON: Bool {
        guard let accept = self[.accept] else { return false }
        let ranges = accept.parts(at: ",").map { Preference($0) }
        func quality(_ type: String) -> Int {
            let named = ranges.first { $0.type == type } ?? ranges.first { $0.type == "*/*" }
            return named?.quality ?? 0
        }
        return quality("application/json") > quality("text/html")
    }

    private struct Preference {
        let type: String
        /// In thousandths.
        let quality: Int

        init(_ text: Substring) {
            let parts = text.parts(at: ";").map { $0.trimmingSpaces().lowercased() }
            type = parts.first ?? ""
            let value = parts.dropFirst().first { $0.hasPrefix("q=") }?.dropFirst(2)
            quality = value.map(Preference.quality) ?? 1000
        }

        /// A weight from 0 to 1 in thousandths (RFC 9110 §12.4.2); anything else counts as 0.
        private static func quality(_ text: Substring) -> Int {
            guard let number = Double(text), number >= 0, number <= 1 else { return 0 }
            return Int(number * 1000)
        }
    }
}
