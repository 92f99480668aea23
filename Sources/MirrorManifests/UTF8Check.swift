/// Strict UTF-8 over chunks (Unicode, Table 3-7), with the place of the first bad byte.
///
/// libxml2 takes a text with bad bytes for Latin-1 in some releases and repairs it in others.
struct UTF8Check {
    private var missing = 0
    private var range: ClosedRange<UInt8> = 0x80...0xBF
    private var line = 1
    private var column = 1

    /// Whether a character is begun and not ended.
    var isInside: Bool { missing > 0 }

    /// The place of the character that the check has reached.
    var position: TextPosition { TextPosition(line: line, column: column) }

    /// Checks a chunk; returns the number of its bytes before the first bad one.
    mutating func advance(over chunk: [UInt8]) -> Int {
        for (at, byte) in chunk.enumerated() {
            if missing > 0 {
                guard range.contains(byte) else { return at }
                missing -= 1
                range = 0x80...0xBF
                if missing == 0 { column += 1 }
                continue
            }
            switch byte {
            case 0x0A:
                line += 1
                column = 1
            case 0..<0x80: column += 1
            default:
                guard let next = UTF8Check.continuation(of: byte) else { return at }
                (missing, range) = next
            }
        }
        return chunk.count
    }

    /// How many bytes follow the first one of a character, and the range of the next one; nil if no
    /// character of several bytes begins with it.
    static func continuation(of lead: UInt8) -> (count: Int, range: ClosedRange<UInt8>)? {
        switch lead {
        case 0xC2...0xDF: (1, 0x80...0xBF)
        case 0xE0: (2, 0xA0...0xBF)
        case 0xED: (2, 0x80...0x9F)
        case 0xE1...0xEF: (2, 0x80...0xBF)
        case 0xF0: (3, 0x90...0xBF)
        case 0xF1...0xF3: (3, 0x80...0xBF)
        case 0xF4: (3, 0x80...0x8F)
        default: nil
        }
    }

    /// The message about a byte that is no UTF-8.
    static let message = "invalid UTF-8; save the manifest as UTF-8"

    /// The message about a text in another encoding.
    static func message(about encoding: String) -> String {
        "the text is \(encoding); save the manifest as UTF-8"
    }
}
