/// The range that a partial response carries, and the size of the whole (RFC 9110 §14.4).
public enum ContentRange: Sendable, Hashable {
    /// `bytes first-last/total`; the total is nil for `*`. first ≤ last < total.
    case bytes(first: Int64, last: Int64, total: Int64?)
    /// `bytes */total`, as a 416 response sends it.
    case unsatisfied(total: Int64)

    /// Reads a value; nil when it is malformed, of another unit, or contradicts itself.
    public init?(_ text: String) {
        var scan = FieldScanner(text.utf8)
        guard scan.token()?.lowercased() == "bytes", scan.take(0x20) else { return nil }
        if scan.take("*/") {
            guard let total = scan.number(), scan.isAtEnd else { return nil }
            self = .unsatisfied(total: total)
            return
        }
        guard let first = scan.number(), scan.take(UInt8(ascii: "-")), let last = scan.number(),
            scan.take(UInt8(ascii: "/")), first <= last, last < .max
        else { return nil }
        var total: Int64?
        if !scan.take(UInt8(ascii: "*")) {
            guard let number = scan.number(), last < number else { return nil }
            total = number
        }
        guard scan.isAtEnd else { return nil }
        self = .bytes(first: first, last: last, total: total)
    }
}

extension ResponseHead {
    /// The one well-formed Content-Range; nil otherwise.
    public var contentRange: ContentRange? {
        guard values(of: .contentRange).count == 1 else { return nil }
        return single(.contentRange).flatMap(ContentRange.init)
    }
}
