/// The head of a final response: status and header fields, byte for byte (RFC 9112 §4, §5).
///
/// One array holds the values of all fields, one after another. Each transfer reads a head once,
/// and an array for each field would cost more than the reading.
struct ResponseHead: Sendable, Hashable {
    private struct Line: Sendable, Hashable {
        let name: HeaderName
        /// The range of the value in `bytes`.
        var value: Range<Int>
    }

    /// The status code, 100…999.
    var status: Int
    /// The version of HTTP of the response.
    var version: HTTPVersion
    /// The kept fields in the order in which they came; each is one that mirror judges.
    private var lines: [Line] = []
    private var bytes: [UInt8] = []
    /// `names`: a bit for each field that came; `repeatedNames`: the fields that came repeatedly.
    private var names: UInt32 = 0
    private var repeatedNames: UInt32 = 0

    /// Makes a head without fields.
    init(status: Int, version: HTTPVersion = .http11) {
        self.status = status
        self.version = version
    }

    /// Makes a head of fields as text. Fields that mirror does not judge are left out.
    init(status: Int, version: HTTPVersion = .http11, _ fields: [(String, String)]) {
        self.init(status: status, version: version)
        for (name, value) in fields {
            var text = name
            let name = text.withUTF8 { HeaderName(UnsafeRawBufferPointer($0)) }
            if let name { append(name, value.utf8) }
        }
    }

    /// Makes room for the fields of a usual response.
    mutating func reserve() {
        lines.reserveCapacity(8)
        bytes.reserveCapacity(160)
    }

    /// Adds a field. Its value must have no white space at its ends.
    mutating func append(_ name: HeaderName, _ value: some Collection<UInt8>) {
        let start = bytes.count
        bytes.append(contentsOf: value)
        lines.append(Line(name: name, value: start..<bytes.count))
        repeatedNames |= names & name.bit
        names |= name.bit
    }

    /// Continues the value of the last field, after a space if both texts have bytes.
    mutating func continueLast(_ more: some Collection<UInt8>) {
        guard let last = lines.last, !more.isEmpty else { return }
        if !last.value.isEmpty { bytes.append(0x20) }
        bytes.append(contentsOf: more)
        lines[lines.count - 1].value = last.value.lowerBound..<bytes.count
    }

    /// The names and values of all kept fields, in order.
    var fields: [(name: HeaderName, value: [UInt8])] {
        lines.map { ($0.name, Array(bytes[$0.value])) }
    }

    /// Returns the values of all fields of a name, in order.
    func values(of name: HeaderName) -> [[UInt8]] {
        lines.filter { $0.name == name }.map { Array(bytes[$0.value]) }
    }

    /// Returns the value of the first field of a name; nil without one.
    func first(_ name: HeaderName) -> ArraySlice<UInt8>? { place(of: name).map { bytes[$0] } }

    private func place(of name: HeaderName) -> Range<Int>? {
        guard has(name) else { return nil }
        for line in lines where line.name == name { return line.value }
        return nil
    }

    /// Whether there is a field of this name.
    func has(_ name: HeaderName) -> Bool { names & name.bit != 0 }

    /// Whether there are several fields of this name.
    func hasSeveral(_ name: HeaderName) -> Bool { repeatedNames & name.bit != 0 }

    /// Returns the value of a list field, with all its lines joined by commas (RFC 9110 §5.3).
    func list(of name: HeaderName) -> [UInt8] {
        guard let first = first(name) else { return [] }
        // Nearly every list field has one line.
        if !hasSeveral(name) { return Array(first) }
        return Array(values(of: name).joined(separator: Array(", ".utf8)))
    }

    /// Whether a field has one line with only this word, in any case.
    ///
    /// - Parameter word: in small letters.
    func isOnly(_ word: StaticString, _ name: HeaderName) -> Bool {
        guard !hasSeveral(name), let place = place(of: name),
            place.count == word.utf8CodeUnitCount
        else { return false }
        // Setting 0x20 turns a capital into its small letter.
        for (at, byte) in bytes[place].enumerated() where byte | 0x20 != word.utf8Start[at] {
            return false
        }
        return true
    }

    /// Returns the value of a field that may come only once.
    ///
    /// Returns nil if the field is missing, if its lines differ, or if the value is not UTF-8.
    func single(_ name: HeaderName) -> String? {
        withSingle(name) { String(sound: $0) }
    }

    /// Returns the date of a field that may come only once.
    ///
    /// Returns nil if the field is missing, if its lines differ, or if the value is no date.
    func date(of name: HeaderName) -> HTTPDate? { withSingle(name) { HTTPDate($0) } }

    /// Reads the bytes of a field that may come only once.
    ///
    /// Returns nil if the field is missing, or if its lines differ.
    private func withSingle<Value>(
        _ name: HeaderName, _ read: (UnsafeBufferPointer<UInt8>) -> Value?
    ) -> Value? {
        guard let place = place(of: name) else { return nil }
        if hasSeveral(name) {
            let first = bytes[place]
            guard lines.allSatisfy({ $0.name != name || bytes[$0.value] == first }) else {
                return nil
            }
        }
        return bytes.withUnsafeBufferPointer { read(UnsafeBufferPointer(rebasing: $0[place])) }
    }
}

/// A version of HTTP, as far as framing depends on it.
package enum HTTPVersion: String, Sendable, Hashable, CaseIterable {
    /// HTTP/1.0.
    case http10 = "1.0"
    /// HTTP/1.1.
    case http11 = "1.1"
    /// HTTP/2 and later, where frames end a body.
    case http2 = "2"
}

extension ResponseHead {
    /// The media type of the body, in lower case and without parameters.
    ///
    /// Nil if the field is missing or malformed.
    var mediaType: String? {
        withSingle(.contentType, MediaRange.essence)
    }

    /// The time at which the server made the response, by the server's clock.
    var date: HTTPDate? { date(of: .date) }

    /// The content codings other than `identity`, in lower case (RFC 9110 §8.4).
    var contentCodings: [String] {
        guard has(.contentEncoding) else { return [] }
        return String(decoding: list(of: .contentEncoding), as: UTF8.self).parts(at: ",")
            .map { $0.trimmingSpaces().lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
    }
}

/// A header field that mirror judges. A head keeps no other fields.
///
/// When a line comes, its name is compared once, as bytes in any case (RFC 9110 §5.1). After that
/// it is a number.
enum HeaderName: UInt8, Sendable, Hashable, CaseIterable {
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

    /// The name's own bit in a set of names.
    var bit: UInt32 { 1 << UInt32(rawValue) }

    /// Finds the name. Returns nil for a field that mirror does not judge.
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

    /// Compares all bytes in words. The last word may overlap the one before it.
    @inline(__always)
    private static func areSame<Word: FixedWidthInteger & BitwiseCopyable>(
        _ type: Word.Type, _ bytes: UnsafeRawBufferPointer, _ text: UnsafeRawBufferPointer
    ) -> Bool {
        let size = MemoryLayout<Word>.size
        // The bit 0x40 of each byte, which is set in small letters but not in hyphens.
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

/// Assembles a final head from the lines that a transport delivers one at a time.
///
/// The transport also delivers the lines of other heads, and the collector drops them. 1xx
/// responses come before the final head (RFC 9110 §15.2). The trailers of a chunked body come after
/// it (RFC 9110 §6.5), and could carry an entity tag of another version.
struct HeadCollector: Sendable {
    private var head = ResponseHead(status: 0)
    /// `hasHead`: a status line has come; `isComplete`: the final head has ended.
    private var hasHead = false
    private var isComplete = false
    private var flaw: String?
    /// `hasField`: a field has come; `isLastKept`: the head keeps the last field.
    private var hasField = false
    private var isLastKept = false

    /// Bytes that are valid only during `take`.
    private typealias Line = UnsafeRawBufferPointer
    private static let badName = "one of its header lines has no proper name"

    /// Makes a collector before the first line.
    init() {}

    /// Adds a line, with or without its line ending. Returns the final head after its last line.
    ///
    /// Returns nil for every other line. Throws `ResponseError` if the head cannot be trusted.
    mutating func take(line: UnsafeRawBufferPointer) throws(ResponseError) -> ResponseHead? {
        if isComplete { return nil }
        let bytes = HeadCollector.withoutEnding(line)
        guard let first = bytes.first else { return try ended() }
        if !hasHead || first == UInt8(ascii: "H") && HeadCollector.begins(bytes, with: "HTTP/") {
            begin(bytes)
        } else if isBlank(first) {
            fold(bytes)
        } else {
            field(bytes)
        }
        return nil
    }

    /// Adds a line from an array in the same way.
    mutating func take(line: [UInt8]) throws(ResponseError) -> ResponseHead? {
        try line.withUnsafeBufferPointer { (line) throws(ResponseError) in
            try take(line: UnsafeRawBufferPointer(line))
        }
    }

    private mutating func ended() throws(ResponseError) -> ResponseHead? {
        if let flaw {
            isComplete = true
            throw .untrusted(flaw)
        }
        guard hasHead else { return nil }
        if (100..<200).contains(head.status) {
            hasHead = false
            return nil
        }
        isComplete = true
        return head
    }

    private mutating func begin(_ bytes: Line) {
        hasField = false
        if let (status, version) = HeadCollector.statusLine(bytes) {
            head = ResponseHead(status: status, version: version)
            head.reserve()
            hasHead = true
            flaw = nil
        } else {
            hasHead = false
            flaw = "its first line is not a status line"
        }
    }

    private mutating func field(_ bytes: Line) {
        var colon = 0
        while colon < bytes.count, bytes[colon] != UInt8(ascii: ":") { colon += 1 }
        let text = Line(rebasing: bytes[..<colon])
        let name = colon < bytes.count ? HeaderName(text) : nil
        // A name that the head keeps is a token.
        guard name != nil || colon < bytes.count && FieldScanner.isToken(text) else {
            flaw = flaw ?? HeadCollector.badName
            return
        }
        hasField = true
        guard let name else {
            isLastKept = false
            return
        }
        isLastKept = true
        head.append(name, HeadCollector.trimmed(bytes, from: colon + 1))
    }

    /// Joins a line that continues the field before it, with a space (RFC 9112 §5.2).
    private mutating func fold(_ bytes: Line) {
        guard hasField else {
            flaw = flaw ?? HeadCollector.badName
            return
        }
        // Appends in place, because a server may fold one value tens of thousands of times.
        if isLastKept { head.continueLast(HeadCollector.trimmed(bytes, from: 0)) }
    }

    private static func statusLine(_ bytes: Line) -> (status: Int, version: HTTPVersion)? {
        let version: HTTPVersion
        let end: Int
        if begins(bytes, with: "HTTP/1.1 ") {
            (version, end) = (.http11, 9)
        } else if begins(bytes, with: "HTTP/1.0 ") {
            (version, end) = (.http10, 9)
        } else if begins(bytes, with: "HTTP/2 ") || begins(bytes, with: "HTTP/3 ") {
            (version, end) = (.http2, 7)
        } else {
            return nil
        }
        let rest = bytes[end...]
        guard rest.count == 3 || rest.count > 3 && bytes[end + 3] == 0x20,
            let status = DecimalDigits.value(of: rest.prefix(3)), status >= 100
        else { return nil }
        return (Int(status), version)
    }

    private static func begins(_ bytes: Line, with text: StaticString) -> Bool {
        guard bytes.count >= text.utf8CodeUnitCount else { return false }
        for at in 0..<text.utf8CodeUnitCount where bytes[at] != text.utf8Start[at] { return false }
        return true
    }

    private static func withoutEnding(_ line: Line) -> Line {
        var count = line.count
        if count > 0, line[count - 1] == 0x0A { count -= 1 }
        if count > 0, line[count - 1] == 0x0D { count -= 1 }
        return Line(start: line.baseAddress, count: count)
    }

    /// Returns the bytes from a position on, without spaces and tabs at their ends.
    private static func trimmed(_ bytes: Line, from start: Int) -> Line {
        var (start, end) = (start, bytes.count)
        while start < end, isBlank(bytes[start]) { start += 1 }
        while start < end, isBlank(bytes[end - 1]) { end -= 1 }
        return Line(rebasing: bytes[start..<end])
    }
}

extension ResponseHead {
    /// The seconds for which the server asks to be left alone, at least 0 (RFC 9110 §10.2.3).
    ///
    /// Nil if the server does not say. A date is compared with the response's own Date, so a wrong
    /// local clock does no harm. Without a Date it is compared with `now`.
    func retryAfter(now: Instant) -> Int64? {
        guard let text = single(.retryAfter) else { return nil }
        let isNumber = !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        if isNumber { return DecimalDigits.value(of: text.utf8) ?? .max }
        guard let until = HTTPDate(text) else { return nil }
        return max(0, until.seconds - (date?.seconds ?? now.seconds))
    }
}
