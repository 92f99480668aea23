/// Finds a tag with too many attributes before libxml2 sees it.
///
/// libxml2 compares each attribute of a tag, and each of its namespaces, with all before it, and
/// reports the element afterwards. The tag need not be well-formed: then libxml2 refuses it.
struct XMLAttributeLimit {
    private enum State {
        case text, opened, declaration, tag, value, comment, cdata, instruction, doctype
    }

    private let most: Int
    private var state = State.text
    /// The mark that ends the value of an attribute.
    private var quote: UInt8 = 0
    /// The last bytes, to find the end of a comment and the like, or what a declaration is.
    private var recent: UInt64 = 0
    /// How many attributes the tag has so far.
    private var count = 0

    init(most: Int) { self.most = most }

    /// Walks over the next chunk. Returns how many bytes libxml2 needs to reach the `<` of a tag with
    /// too many attributes; nil if there is none so far.
    mutating func advance(over chunk: UnsafeBufferPointer<UInt8>) -> Int? {
        var tagStart = 0
        var at = 0
        while at < chunk.count {
            if state == .text {
                guard let open = chunk[at...].firstIndex(of: UInt8(ascii: "<")) else { return nil }
                (state, tagStart, at) = (.opened, open, open + 1)
                continue
            }
            take(chunk[at])
            at += 1
            if count > most { return min(tagStart + 2, chunk.count) }
        }
        return nil
    }

    private mutating func take(_ byte: UInt8) {
        recent = recent << 8 | UInt64(byte)
        switch state {
        case .text, .doctype: break
        case .opened:
            (recent, count) = (0, 0)
            switch byte {
            case UInt8(ascii: "!"): state = .declaration
            case UInt8(ascii: "?"): state = .instruction
            default: state = .tag
            }
        case .declaration:
            if recent == XMLAttributeLimit.number("--") {
                (state, recent) = (.comment, 0)
            } else if recent == XMLAttributeLimit.number("[CDATA[") {
                (state, recent) = (.cdata, 0)
            } else if byte != UInt8(ascii: "-"), !"[CDAT".utf8.contains(byte) {
                // libxml2 ends at a DOCTYPE.
                state = .doctype
            }
        case .tag:
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "'"): (state, quote) = (.value, byte)
            case UInt8(ascii: "="): count += 1
            case UInt8(ascii: ">"): state = .text
            default: break
            }
        case .value: if byte == quote { state = .tag }
        case .comment: end(at: "-->")
        case .cdata: end(at: "]]>")
        case .instruction: end(at: "?>")
        }
    }

    private mutating func end(at mark: StaticString) {
        let length = UInt64(8 * mark.utf8CodeUnitCount)
        if recent & (1 << length - 1) == XMLAttributeLimit.number(mark) { state = .text }
    }

    private static func number(_ text: StaticString) -> UInt64 {
        text.withUTF8Buffer { $0.reduce(0) { $0 << 8 | UInt64($1) } }
    }
}
