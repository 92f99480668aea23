/// The head of a final response: status and header fields, byte for byte (RFC 9112 §4, §5).
///
/// The values of all fields stand in one array, one behind another: a head is read once for each
/// transfer, and an array for each field would cost more than reading it.
public struct ResponseHead: Sendable, Hashable {
    private struct Line: Sendable, Hashable {
        let name: HeaderName
        /// Where its value is among all bytes.
        var value: Range<Int>
    }

    /// The status code, 100…999.
    public var status: Int
    /// The version of HTTP of the response.
    public var version: HTTPVersion
    /// The fields by which a response is judged, in the order in which they came.
    private var lines: [Line] = []
    private var bytes: [UInt8] = []
    /// The names of the fields that came, and of those that came more than once: a bit for each.
    private var names: UInt32 = 0
    private var repeatedNames: UInt32 = 0

    /// Takes a status; there are no fields yet.
    public init(status: Int, version: HTTPVersion = .http11) {
        self.status = status
        self.version = version
    }

    /// Takes a status, and fields as text; fields by which no response is judged are left out.
    public init(status: Int, version: HTTPVersion = .http11, _ fields: [(String, String)]) {
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

    /// Adds a field whose value has no white space at its ends.
    public mutating func append(_ name: HeaderName, _ value: some Collection<UInt8>) {
        let start = bytes.count
        bytes.append(contentsOf: value)
        lines.append(Line(name: name, value: start..<bytes.count))
        repeatedNames |= names & name.bit
        names |= name.bit
    }

    /// Continues the value of the last field, with a space between where both have bytes.
    mutating func continueLast(_ more: some Collection<UInt8>) {
        guard let last = lines.last, !more.isEmpty else { return }
        if !last.value.isEmpty { bytes.append(0x20) }
        bytes.append(contentsOf: more)
        lines[lines.count - 1].value = last.value.lowerBound..<bytes.count
    }

    /// The names and values of all fields, in order.
    public var fields: [(name: HeaderName, value: [UInt8])] {
        lines.map { ($0.name, Array(bytes[$0.value])) }
    }

    /// The values of all fields of a name, in order.
    public func values(of name: HeaderName) -> [[UInt8]] {
        lines.filter { $0.name == name }.map { Array(bytes[$0.value]) }
    }

    /// The value of the first field of a name.
    func first(_ name: HeaderName) -> ArraySlice<UInt8>? { place(of: name).map { bytes[$0] } }

    private func place(of name: HeaderName) -> Range<Int>? {
        guard has(name) else { return nil }
        for line in lines where line.name == name { return line.value }
        return nil
    }

    /// Whether there is a field of this name.
    public func has(_ name: HeaderName) -> Bool { names & name.bit != 0 }

    /// Whether there are several fields of this name.
    func hasSeveral(_ name: HeaderName) -> Bool { repeatedNames & name.bit != 0 }

    /// The values of a list field, with all its lines joined (RFC 9110 §5.3).
    public func list(of name: HeaderName) -> [UInt8] {
        guard let first = first(name) else { return [] }
        // Nearly always there is one line, or none.
        if !hasSeveral(name) { return Array(first) }
        return Array(values(of: name).joined(separator: Array(", ".utf8)))
    }

    /// Whether a list field has one line, and that is a word in small letters, in any case.
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

    /// The value of a field that may come once.
    ///
    /// Nil when it is missing, when its lines differ, and when it is not UTF-8.
    public func single(_ name: HeaderName) -> String? {
        withSingle(name) { String(sound: $0) }
    }

    /// The date of a field that may come once; nil in the same cases, and when it is not a date.
    public func date(of name: HeaderName) -> HTTPDate? { withSingle(name) { HTTPDate($0) } }

    /// Reads the bytes of a field that may come once; nil when it is missing, and when its lines
    /// differ.
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
public enum HTTPVersion: String, Sendable, Hashable, CaseIterable {
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
    /// Nil when there is none or it is malformed.
    public var mediaType: String? {
        withSingle(.contentType, MediaRange.essence)
    }

    /// The time at which the response was made, by the server's clock.
    public var date: HTTPDate? { date(of: .date) }

    /// The content codings other than `identity`, in lower case (RFC 9110 §8.4).
    public var contentCodings: [String] {
        guard has(.contentEncoding) else { return [] }
        return String(decoding: list(of: .contentEncoding), as: UTF8.self).parts(at: ",")
            .map { $0.trimmingSpaces().lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
    }
}
