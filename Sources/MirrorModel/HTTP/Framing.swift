/// How the end of a body is known (RFC 9112 §6.3, RFC 9113 §8.1).
///
/// The transport reads some broken heads leniently and reports success on half a body. So mirror
/// judges the header lines here before it keeps the first byte of the body.
package enum Framing: Sendable, Hashable {
    /// There is no body, whatever the fields say.
    case none
    /// The body has this number of bytes.
    case length(Int64)
    /// A final chunk ends the body.
    case chunked
    /// The end of the connection, or of an HTTP/2 stream without a length, ends the body.
    ///
    /// Neither proves that the body is complete, because the transport reports a stream that was
    /// reset without an error as one that ended.
    case unbounded

    /// The promised length, where there is one.
    package var length: Int64? {
        if case .length(let length) = self { length } else { nil }
    }

    /// Judges a head; throws the flaw for which it is refused.
    package static func judge(_ head: ResponseHead) throws(FramingFlaw) -> Framing {
        if head.hasSeveral(.entityTag) { throw .repeated("etag") }
        if head.hasSeveral(.contentRange) { throw .repeated("content-range") }
        let length = try contentLength(head)
        let isCoded = head.has(.transferEncoding)
        if isCoded {
            let text = String(decoding: head.list(of: .transferEncoding), as: UTF8.self)
            guard text.lowercased() == "chunked", head.version == .http11 else {
                throw .transferEncoding(text)
            }
        }
        if head.status == 204 || head.status == 304 { return .none }
        // Chunks win over a length (RFC 9112 §6.3, third rule).
        if isCoded { return .chunked }
        if let length { return .length(length) }
        return .unbounded
    }

    private static func contentLength(_ head: ResponseHead) throws(FramingFlaw) -> Int64? {
        guard let first = head.first(.contentLength) else { return nil }
        // Nearly every response has one length, and that is a number.
        if !head.hasSeveral(.contentLength), let value = DecimalDigits.value(of: first) {
            return value
        }
        let text = String(decoding: head.list(of: .contentLength), as: UTF8.self)
        var known: Int64?
        for part in text.parts(at: ",", keepingEmpty: true) {
            guard let value = DecimalDigits.value(of: part.trimmingSpaces().utf8),
                known == nil || known == value
            else { throw .contentLength(text) }
            known = value
        }
        return known
    }
}

/// Why the head of a response cannot be trusted.
package enum FramingFlaw: Error, Sendable, Hashable, CustomStringConvertible {
    /// The first line is not a status line.
    case statusLine
    /// A line is not a field.
    case fieldLine
    /// The lengths differ, or one is not a number.
    case contentLength(String)
    /// A transfer coding other than `chunked`.
    case transferEncoding(String)
    /// A field that may come once came more often.
    case repeated(String)

    /// The flaw, as the middle of a sentence.
    package var description: String {
        switch self {
        case .statusLine: "its first line is not a status line"
        case .fieldLine: "one of its header lines has no proper name"
        case .contentLength(let text): "its Content-Length is \(Quoted(text))"
        case .transferEncoding(let text): "its Transfer-Encoding is \(Quoted(text))"
        case .repeated(let name): "it sent \(name == "etag" ? "ETag" : "Content-Range") twice"
        }
    }
}
