/// A header field by which a response is judged; fields of other names are not kept.
///
/// Names are compared once, as bytes, when their line comes (RFC 9110 §5.1: in any case). From then
/// on they are numbers.
public enum HeaderName: UInt8, Sendable, Hashable, CaseIterable {
    case acceptRanges, age, cacheControl, contentDisposition, contentEncoding, contentLength
    case contentRange, contentType, date, entityTag, expires, lastModified, link, location,
        reprDigest
    case retryAfter, setCookie, transferEncoding, vary

    /// The name in lower case.
    var text: StaticString {
        switch self {
        case .acceptRanges: "accept-ranges"
        case .age: "age"
        case .cacheControl: "cache-control"
        case .contentDisposition: "content-disposition"
        case .contentEncoding: "content-encoding"
        case .contentLength: "content-length"
        case .contentRange: "content-range"
        case .contentType: "content-type"
        case .date: "date"
        case .entityTag: "etag"
        case .expires: "expires"
        case .lastModified: "last-modified"
        case .link: "link"
        case .location: "location"
        case .reprDigest: "repr-digest"
        case .retryAfter: "retry-after"
        case .setCookie: "set-cookie"
        case .transferEncoding: "transfer-encoding"
        case .vary: "vary"
        }
    }

    /// A bit of its own, for a set of names.
    var bit: UInt32 { 1 << UInt32(rawValue) }

    /// Finds the name; nil for a field by which no response is judged.
    init?(_ bytes: UnsafeRawBufferPointer) {
        // The length alone rules out nearly every line.
        switch bytes.count {
        case 3: self.init(bytes, .age)
        case 4: self.init(bytes, .date, .entityTag, .vary, .link)
        case 7: self.init(bytes, .expires)
        case 8: self.init(bytes, .location)
        case 10: self.init(bytes, .setCookie)
        case 11: self.init(bytes, .reprDigest, .retryAfter)
        case 12: self.init(bytes, .contentType)
        case 13: self.init(bytes, .lastModified, .acceptRanges, .cacheControl, .contentRange)
        case 14: self.init(bytes, .contentLength)
        case 16: self.init(bytes, .contentEncoding)
        case 17: self.init(bytes, .transferEncoding)
        case 19: self.init(bytes, .contentDisposition)
        default: return nil
        }
    }

    private init?(
        _ bytes: UnsafeRawBufferPointer, _ first: HeaderName, _ second: HeaderName? = nil,
        _ third: HeaderName? = nil, _ fourth: HeaderName? = nil
    ) {
        if first.matches(bytes) {
            self = first
        } else if let second, second.matches(bytes) {
            self = second
        } else if let third, third.matches(bytes) {
            self = third
        } else if let fourth, fourth.matches(bytes) {
            self = fourth
        } else {
            return nil
        }
    }

    private func matches(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let text = UnsafeRawBufferPointer(start: text.utf8Start, count: bytes.count)
        if bytes.count < 4 { return HeaderName.areSame(UInt8.self, bytes, text) }
        if bytes.count < 8 { return HeaderName.areSame(UInt32.self, bytes, text) }
        return HeaderName.areSame(UInt64.self, bytes, text)
    }

    /// Compares words of bytes, the last of which may begin before the end of the one before it.
    @inline(__always)
    private static func areSame<Word: FixedWidthInteger & BitwiseCopyable>(
        _ type: Word.Type, _ bytes: UnsafeRawBufferPointer, _ text: UnsafeRawBufferPointer
    ) -> Bool {
        let size = MemoryLayout<Word>.size
        // A bit for each byte of a word: what is 0x40 in a small letter, and not in a hyphen.
        let letters = Word(truncatingIfNeeded: 0x4040_4040_4040_4040 as UInt64)
        var at = 0
        while true {
            let known = text.loadUnaligned(fromByteOffset: at, as: Word.self)
            // Setting 0x20 turns a capital into its small letter.
            let mask = (known & letters) >> 1
            if bytes.loadUnaligned(fromByteOffset: at, as: Word.self) | mask != known {
                return false
            }
            if at == bytes.count - size { return true }
            at = Swift.min(at + size, bytes.count - size)
        }
    }
}
