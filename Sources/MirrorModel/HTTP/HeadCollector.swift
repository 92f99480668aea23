/// Assembles a final head from the lines that a transport delivers one at a time.
///
/// The transport also delivers the lines of other heads, and the collector drops them: 1xx
/// responses before the final head (RFC 9110 §15.2), and behind it the trailers of a chunked body
/// (RFC 9110 §6.5), which could carry an entity tag of another version.
package struct HeadCollector: Sendable {
    private var head: ResponseHead?
    private var isComplete = false
    private var flaw: FramingFlaw?
    /// Whether a field has come, and whether the collector keeps the last one.
    private var hasField = false
    private var isLastKept = false

    /// Bytes that are valid only while a line is taken.
    private typealias Line = Slice<UnsafeRawBufferPointer>

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
        if bytes.isEmpty { return ended() }
        if head == nil || bytes.starts(with: "HTTP/".utf8) {
            head = HeadCollector.statusLine(bytes)
            flaw = head == nil ? .statusLine : nil
            hasField = false
        } else if bytes.first == 0x20 || bytes.first == 0x09 {
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
        guard let finished = head else { return .more }
        if (100..<200).contains(finished.status) {
            head = nil
            return .more
        }
        isComplete = true
        return .head(finished)
    }

    private mutating func field(_ bytes: Line) {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            Token.isToken(bytes[..<colon])
        else {
            flaw = flaw ?? .fieldLine
            return
        }
        hasField = true
        guard let name = HeaderName(bytes[..<colon]) else {
            isLastKept = false
            return
        }
        isLastKept = true
        head?.append(name, HeadCollector.trimmed(bytes[(colon + 1)...]))
    }

    /// Joins a line that continues the one before it, with a space (RFC 9112 §5.2).
    private mutating func fold(_ bytes: Line) {
        guard hasField else {
            flaw = flaw ?? .fieldLine
            return
        }
        // Appends in place: a server may fold one value tens of thousands of times.
        if isLastKept { head?.continueLast(HeadCollector.trimmed(bytes)) }
    }

    private static func statusLine(_ bytes: Line) -> ResponseHead? {
        var scan = FieldScanner(bytes)
        let version: HTTPVersion
        if scan.take("HTTP/1.1") {
            version = .http11
        } else if scan.take("HTTP/1.0") {
            version = .http10
        } else if scan.take("HTTP/2") || scan.take("HTTP/3") {
            version = .http2
        } else {
            return nil
        }
        guard scan.take(0x20), scan.rest.prefix(3).count == 3,
            let status = DecimalDigits.value(of: scan.rest.prefix(3)), status >= 100,
            scan.rest.count == 3 || scan.rest.dropFirst(3).first == 0x20
        else { return nil }
        var head = ResponseHead(status: Int(status), version: version)
        head.reserve()
        return head
    }

    private static func withoutEnding(_ line: UnsafeRawBufferPointer) -> Line {
        var bytes = line[...]
        if bytes.last == 0x0A { bytes.removeLast() }
        if bytes.last == 0x0D { bytes.removeLast() }
        return bytes
    }

    private static func trimmed(_ bytes: Line) -> Line {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        let start = bytes.drop(while: isSpace)
        guard let last = start.lastIndex(where: { !isSpace($0) }) else { return start.prefix(0) }
        return start[...last]
    }
}
