/// An entity tag: an opaque validator, weak or strong (RFC 9110 §8.8.3).
public struct EntityTag: Sendable, Hashable, CustomStringConvertible {
    /// The tag with its quotes and, where it is weak, its `W/`, byte for byte as it was sent.
    public let text: String

    /// Whether it vouches for meaning only, not for bytes.
    public var isWeak: Bool { text.utf8.starts(with: "W/".utf8) }

    /// Reads one entity tag; nil when it is malformed.
    public init?(_ text: String) {
        let opaque = text.utf8.starts(with: "W/".utf8) ? text.utf8.dropFirst(2) : text.utf8[...]
        guard opaque.count >= 2, opaque.first == quote, opaque.last == quote,
            opaque.dropFirst().dropLast().allSatisfy({
                $0 == 0x21 || (0x23...0x7E) ~= $0 || $0 >= 0x80
            })
        else { return nil }
        self.text = text
    }

    /// The tag as it was sent.
    public var description: String { text }

    /// Whether the bytes are the same.
    public static func == (left: EntityTag, right: EntityTag) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }
}

private let quote = UInt8(ascii: "\"")
