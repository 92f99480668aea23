/// An entity tag: an opaque validator, weak or strong (RFC 9110 §8.8.3).
public struct EntityTag: Sendable, Hashable, CustomStringConvertible {
    /// The tag with its quotes and, where it is weak, its `W/`, byte for byte as it was sent.
    public let text: String

    /// Whether the tag is weak: it then identifies the meaning only, not the bytes.
    public var isWeak: Bool { text.utf8.starts(with: "W/".utf8) }

    /// Reads one entity tag; nil when it is malformed.
    public init?(_ text: String) {
        var text = text
        guard text.withUTF8(EntityTag.isSound) else { return nil }
        self.text = text
    }

    /// Whether bytes are one entity tag.
    package static func isSound(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let start = bytes.first == UInt8(ascii: "W") ? 2 : 0
        let last = bytes.count - 1
        guard last > start, bytes[start] == quote, bytes[last] == quote,
            start == 0 || bytes[1] == UInt8(ascii: "/")
        else { return false }
        for at in (start + 1)..<last {
            let byte = bytes[at]
            guard byte > 0x22 && byte != 0x7F || byte == 0x21 else { return false }
        }
        return true
    }

    /// The tag as it was sent.
    public var description: String { text }

    /// Whether the bytes are the same.
    public static func == (left: EntityTag, right: EntityTag) -> Bool {
        PathText.areSame(left.text, right.text)
    }
}

private let quote = UInt8(ascii: "\"")
