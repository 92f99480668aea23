/// How a client knows where a body ends (RFC 9112 §6.3, RFC 9113 §8.1).
///
/// The transport reads some broken heads leniently, and then reports success for half a body. So
/// mirror judges the header lines here before it keeps the first byte of the body.
enum Framing: Sendable, Hashable {
    /// The response has no body, whatever its fields say.
    case none
    /// The body has this number of bytes.
    case length(Int64)
    /// A final chunk ends the body.
    case chunked
    /// The end of the connection, or of an HTTP/2 stream without a length, ends the body.
    ///
    /// Neither end proves that the body is complete. The transport may report a stream that the
    /// server reset without an error as ended.
    case unbounded

    /// The promised length of the body; nil without one.
    var length: Int64? {
        if case .length(let length) = self { length } else { nil }
    }

    /// Returns how the body of a response ends. Throws why the head cannot be trusted.
    static func judge(_ head: ResponseHead) throws(ResponseError) -> Framing {
        if head.hasSeveral(.entityTag) {
            throw .untrusted("it sent ETag twice", status: head.status)
        }
        if head.hasSeveral(.contentRange) {
            throw .untrusted("it sent Content-Range twice", status: head.status)
        }
        let length = try contentLength(head)
        let isCoded = head.has(.transferEncoding)
        if isCoded {
            let text = String(decoding: head.list(of: .transferEncoding), as: UTF8.self)
            guard text.lowercased() == "chunked", head.version == .http11 else {
                throw .untrusted("its Transfer-Encoding is \(Quoted(text))", status: head.status)
            }
        }
        if head.status == 204 || head.status == 304 { return .none }
        // Chunks win over a length (RFC 9112 §6.3, third rule).
        if isCoded { return .chunked }
        if let length { return .length(length) }
        return .unbounded
    }

    private static func contentLength(_ head: ResponseHead) throws(ResponseError) -> Int64? {
        guard let first = head.first(.contentLength) else { return nil }
        // Nearly every response has one length, and the length is a number.
        if !head.hasSeveral(.contentLength), let value = DecimalDigits.value(of: first) {
            return value
        }
        let text = String(decoding: head.list(of: .contentLength), as: UTF8.self)
        var known: Int64?
        for part in text.parts(at: ",", keepingEmpty: true) {
            guard let value = DecimalDigits.value(of: part.trimmingSpaces().utf8),
                known == nil || known == value
            else {
                throw .untrusted("its Content-Length is \(Quoted(text))", status: head.status)
            }
            known = value
        }
        return known
    }
}

extension ResponseError {
    /// The head of a response cannot be trusted. `flaw` is the middle of a sentence.
    static func untrusted(_ flaw: String, status: Int? = nil) -> ResponseError {
        ResponseError(.malformedResponse, "the answer cannot be trusted: \(flaw)", status: status)
    }
}

/// The range that a partial response carries, and the size of the whole (RFC 9110 §14.4).
enum ContentRange: Sendable, Hashable {
    /// `bytes first-last/total`. The total is nil for `*`. first ≤ last < total.
    case bytes(first: Int64, last: Int64, total: Int64?)
    /// `bytes */total`, as a 416 response sends it.
    case unsatisfied(total: Int64)

    /// Reads a Content-Range. Returns nil if it is malformed, of another unit, or contradictory.
    init?(_ text: String) {
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
    /// The Content-Range of the response; nil without one, with several, and if it is malformed.
    var contentRange: ContentRange? {
        guard values(of: .contentRange).count == 1 else { return nil }
        return single(.contentRange).flatMap(ContentRange.init)
    }
}

extension Range<Int64> {
    /// The bytes of a file of `size` bytes that a Range field asks for (RFC 9110 §14.2).
    ///
    /// The range is empty if the file has none of these bytes. Returns nil if the field is
    /// malformed, has another unit, or asks for several ranges. A server may ignore such a field,
    /// and then sends the whole file.
    init?(requestedBy field: String, ofSize size: Int64) {
        var scan = FieldScanner(field.utf8)
        guard scan.token()?.lowercased() == "bytes", scan.take(UInt8(ascii: "=")) else {
            return nil
        }
        scan.skipSpaces()
        let hyphen = UInt8(ascii: "-")
        if scan.take(hyphen) {
            guard let length = scan.number() else { return nil }
            self = Swift.max(0, size - length)..<size
        } else {
            guard let first = scan.number(), scan.take(hyphen) else { return nil }
            let last = scan.number()
            if let last, last < first { return nil }
            let end = last.map { Swift.min($0, size - 1) + 1 } ?? size
            self = first < size ? first..<end : size..<size
        }
        scan.skipSpaces()
        guard scan.isAtEnd else { return nil }
    }
}
