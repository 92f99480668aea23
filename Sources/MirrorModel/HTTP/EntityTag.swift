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
        let opaque = bytes.dropFirst(bytes.starts(with: "W/".utf8) ? 2 : 0)
        return opaque.count >= 2 && opaque.first == quote && opaque.last == quote
            && opaque.dropFirst().dropLast().allSatisfy {
                $0 == 0x21 || (0x23...0x7E) ~= $0 || $0 >= 0x80
            }
    }

    /// The tag as it was sent.
    public var description: String { text }

    /// Whether the bytes are the same.
    public static func == (left: EntityTag, right: EntityTag) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }
}

private let quote = UInt8(ascii: "\"")
