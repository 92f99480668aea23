/// The head of a final response: status and header fields, byte for byte (RFC 9112 §4, §5).
public struct ResponseHead: Sendable, Hashable {
    /// A header field.
    public struct Field: Sendable, Hashable {
        /// Which field it is.
        public let name: HeaderName
        /// The value without white space at its ends.
        public internal(set) var value: [UInt8]

        /// Takes a name and a value.
        public init(_ name: HeaderName, _ value: [UInt8]) {
            self.name = name
            self.value = value
        }
    }

    /// The status code, 100…999.
    public var status: Int
    /// The version of HTTP of the response.
    public var version: HTTPVersion
    /// The fields by which a response is judged, in the order in which they came.
    public var fields: [Field]

    /// Takes a status and fields.
    public init(status: Int, version: HTTPVersion = .http11, fields: [Field] = []) {
        self.status = status
        self.version = version
        self.fields = fields
    }

    /// Takes a status, and fields as text; fields by which no response is judged are left out.
    public init(status: Int, version: HTTPVersion = .http11, _ fields: [(String, String)]) {
        let known = fields.compactMap { name, value in
            HeaderName(name.utf8).map { Field($0, Array(value.utf8)) }
        }
        self.init(status: status, version: version, fields: known)
    }

    /// The values of all fields of a name, in order.
    public func values(of name: HeaderName) -> [[UInt8]] {
        fields.filter { $0.name == name }.map(\.value)
    }

    /// Whether there is a field of this name.
    public func has(_ name: HeaderName) -> Bool { fields.contains { $0.name == name } }

    /// How many fields of this name there are.
    func count(of name: HeaderName) -> Int { fields.count { $0.name == name } }

    /// The values of a list field, with all its lines joined (RFC 9110 §5.3).
    public func list(of name: HeaderName) -> [UInt8] {
        // Nearly always there is one line, or none.
        guard let first = fields.firstIndex(where: { $0.name == name }) else { return [] }
        guard fields[(first + 1)...].contains(where: { $0.name == name }) else {
            return fields[first].value
        }
        return Array(values(of: name).joined(separator: Array(", ".utf8)))
    }

    /// The value of a field that may come once.
    ///
    /// Nil when it is missing, when its lines differ, and when it is not UTF-8.
    public func single(_ name: HeaderName) -> String? {
        bytes(of: name).flatMap { String(sound: $0) }
    }

    /// The date of a field that may come once; nil in the same cases, and when it is not a date.
    public func date(of name: HeaderName) -> HTTPDate? { bytes(of: name).flatMap { HTTPDate($0) } }

    private func bytes(of name: HeaderName) -> [UInt8]? {
        guard let first = fields.first(where: { $0.name == name }) else { return nil }
        let isSingle = fields.allSatisfy { $0.name != name || $0.value == first.value }
        return isSingle ? first.value : nil
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
        bytes(of: .contentType).flatMap(MediaRange.essence)
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
