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
    package static func judge(_ head: ResponseHead) throws(FramingError) -> Framing {
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

    private static func contentLength(_ head: ResponseHead) throws(FramingError) -> Int64? {
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
package enum FramingError: Error, Sendable, Hashable, CustomStringConvertible {
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

/// Content codings as servers use them (RFC 9110 §8.4.1).
///
/// A server that finds `a.tar.gz` may send it as a tar archive with the coding gzip. Those are the
/// bytes of the file as its name has it, and so they are kept.
enum ContentCoding {
    /// Whether a word names no coding, though a server sends it as one.
    static func isNone(_ word: String) -> Bool {
        nones.contains(word) || word.hasPrefix("iso-8859-") || word.hasPrefix("windows-")
            || word.contains("/")
    }

    /// Whether a coding is what the extension of a name says.
    static func isPart(_ coding: String, of name: String) -> Bool {
        let last = name.split(separator: "/").last ?? ""
        guard let dot = last.lastIndex(of: ".") else { return false }
        let coding = coding.hasPrefix("x-") ? String(coding.dropFirst(2)) : coding
        return extensions[last[last.index(after: dot)...].lowercased()] == coding
    }

    /// Encodings of characters and of mail, and words for nothing.
    private static let nones: Set<String> = [
        "none", "binary", "utf-8", "utf8", "us-ascii", "ascii", "7bit", "8bit", "raw", "plain",
    ]

    private static let extensions = [
        "gz": "gzip", "tgz": "gzip", "svgz": "gzip", "br": "br", "zst": "zstd", "tzst": "zstd",
        "bz2": "bzip2", "tbz2": "bzip2", "xz": "xz", "txz": "xz", "lzma": "lzma", "z": "compress",
    ]
}
