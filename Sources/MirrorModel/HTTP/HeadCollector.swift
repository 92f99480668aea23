/// Assembles a final head from the lines that a transport delivers one at a time.
///
/// The transport also delivers the lines of other heads, and the collector drops them: 1xx
/// responses before the final head (RFC 9110 §15.2), and behind it the trailers of a chunked body
/// (RFC 9110 §6.5), which could carry an entity tag of another version.
package struct HeadCollector: Sendable {
    private var head = ResponseHead(status: 0)
    /// Whether a status line has come, and whether the head behind it has ended.
    private var hasHead = false
    private var isComplete = false
    private var flaw: FramingFlaw?
    /// Whether a field has come, and whether the collector keeps the last one.
    private var hasField = false
    private var isLastKept = false

    /// Bytes that are valid only while a line is taken.
    private typealias Line = UnsafeRawBufferPointer

    /// Starts before the first line.
    package init() {}

    /// The result of a line.
    package enum Progress: Sendable, Hashable {
        /// Nothing to act on yet.
        case more
        /// The final head is complete.
        case head(ResponseHead)
        /// The head cannot be trusted.
        case refused(FramingFlaw)
    }

    /// Takes one line with or without its line ending.
    package mutating func take(line: UnsafeRawBufferPointer) -> Progress {
        if isComplete { return .more }
        let bytes = HeadCollector.withoutEnding(line)
        guard let first = bytes.first else { return ended() }
        if !hasHead || first == UInt8(ascii: "H") && HeadCollector.begins(bytes, with: "HTTP/") {
            begin(bytes)
        } else if isBlank(first) {
            fold(bytes)
        } else {
            field(bytes)
        }
        return .more
    }

    /// Takes one line in the same way, from an array.
    package mutating func take(line: [UInt8]) -> Progress {
        line.withUnsafeBytes { take(line: $0) }
    }

    private mutating func ended() -> Progress {
        if let flaw {
            isComplete = true
            return .refused(flaw)
        }
        guard hasHead else { return .more }
        if (100..<200).contains(head.status) {
            hasHead = false
            return .more
        }
        isComplete = true
        return .head(head)
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
            flaw = .statusLine
        }
    }

    private mutating func field(_ bytes: Line) {
        var colon = 0
        while colon < bytes.count, bytes[colon] != UInt8(ascii: ":") { colon += 1 }
        let text = Line(rebasing: bytes[..<colon])
        let name = colon < bytes.count ? HeaderName(text) : nil
        // The names that are kept are tokens.
        guard name != nil || colon < bytes.count && Token.isToken(text) else {
            flaw = flaw ?? .fieldLine
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

    /// Joins a line that continues the one before it, with a space (RFC 9112 §5.2).
    private mutating func fold(_ bytes: Line) {
        guard hasField else {
            flaw = flaw ?? .fieldLine
            return
        }
        // Appends in place: a server may fold one value tens of thousands of times.
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

    /// The bytes from a position on, without spaces and tabs at their ends.
    private static func trimmed(_ bytes: Line, from start: Int) -> Line {
        var (start, end) = (start, bytes.count)
        while start < end, isBlank(bytes[start]) { start += 1 }
        while start < end, isBlank(bytes[end - 1]) { end -= 1 }
        return Line(rebasing: bytes[start..<end])
    }
}
