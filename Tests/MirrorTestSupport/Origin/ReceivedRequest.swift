/// One request as it came over the wire.
public struct ReceivedRequest: Sendable {
    /// The request line and the header lines as they came, with the empty line that ends them.
    public let head: [UInt8]
    /// The method, e.g. `GET`.
    public let method: String
    /// The request target: the path and the query.
    public let path: String
    /// The header lines in order, names as they were written, values without outer white space.
    public let headers: [(name: String, value: String)]
    /// The body.
    public let body: [UInt8]
    /// The connection's number; the first that a server accepts is 1.
    public let connection: Int
    /// The number of the request on its connection; the first is 1.
    public let ordinal: Int

    package init?(head: [UInt8], body: [UInt8], connection: Int, ordinal: Int) {
        let lines = String(decoding: head, as: UTF8.self).split(
            separator: "\r\n", omittingEmptySubsequences: true)
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3 else { return nil }
        self.head = head
        method = String(words[0])
        path = String(words[1])
        headers = lines.dropFirst().compactMap(ReceivedRequest.header)
        self.body = body
        self.connection = connection
        self.ordinal = ordinal
    }

    /// The values of a header by its name in any case, in order.
    public func values(of name: String) -> [String] {
        headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// The first value of a header by its name in any case.
    public func value(of name: String) -> String? { values(of: name).first }

    private static func header(_ line: Substring) -> (name: String, value: String)? {
        guard let colon = line.firstIndex(of: ":") else { return nil }
        return (String(line[..<colon]), line[line.index(after: colon)...].trimmed)
    }
}

extension StringProtocol {
    /// The text without spaces and tabs at its ends.
    package var trimmed: String {
        var text = Substring(self)
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return String(text)
    }
}
