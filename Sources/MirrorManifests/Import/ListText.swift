internal import MirrorModel

/// A word of a line, and where it begins.
typealias ListWord = Located<String>

/// A line of a list, without its line end.
struct ListLine {
    let text: Substring
    let number: Int

    /// Whether there is only white space in it.
    var isBlank: Bool { text.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 } }

    /// Whether its first word begins with `#`.
    var isComment: Bool {
        text.utf8.first { $0 != 0x20 && $0 != 0x09 } == UInt8(ascii: "#")
    }

    /// Whether it begins with white space.
    var isIndented: Bool { text.utf8.first == 0x20 || text.utf8.first == 0x09 }

    /// The place of its first character.
    var place: TextPosition { TextPosition(line: number, column: 1) }

    /// The place of a part of the text.
    func place(of part: Substring) -> TextPosition {
        let before = text.unicodeScalars[text.startIndex..<part.startIndex]
        return TextPosition(line: number, column: before.count + 1)
    }

    /// A part of the text with its place.
    func word(_ part: Substring) -> ListWord {
        ListWord(value: String(part), place: place(of: part))
    }

    /// Parts of the text with their places; they are in the order of the text.
    func words(_ parts: [Substring]) -> [ListWord] {
        // Counting from one part to the next: a line may have very many of them.
        var (at, column) = (text.startIndex, 1)
        return parts.map { part in
            column += text.unicodeScalars[at..<part.startIndex].count
            at = part.startIndex
            return ListWord(value: String(part), place: TextPosition(line: number, column: column))
        }
    }

    /// The parts between spaces and tabs.
    var words: [Substring] {
        var words: [Substring] = []
        var rest = text.utf8[...]
        while true {
            rest = rest.drop { $0 == 0x20 || $0 == 0x09 }
            guard !rest.isEmpty else { return words }
            let word = rest.prefix { $0 != 0x20 && $0 != 0x09 }
            words.append(Substring(word))
            rest = rest[word.endIndex...]
        }
    }

    /// The text without white space at its ends.
    var trimmed: Substring {
        let start = text.utf8.drop { $0 == 0x20 || $0 == 0x09 }
        let end = start.lastIndex { $0 != 0x20 && $0 != 0x09 }
        return Substring(end.map { start[...$0] } ?? start.prefix(0))
    }
}

/// The whole text of a list, which is valid UTF-8, and its lines.
struct ListText: Sequence {
    let text: String
    private let hasMark: Bool

    /// Checks the encoding of a text; a byte order mark at its beginning is passed over.
    init(_ bytes: [UInt8], log: DiagnosticLog) throws(DecodingStop) {
        var utf8 = UTF8Check()
        if utf8.advance(over: bytes) < bytes.count || utf8.isInside {
            log.error(at: utf8.position, JSONFlaw.invalidUTF8.description)
            throw .refused
        }
        hasMark = bytes.starts(with: ListText.mark)
        text = String(decoding: bytes.dropFirst(hasMark ? 3 : 0), as: UTF8.self)
    }

    private init(signed text: String) { (self.text, hasMark) = (text, false) }

    /// The text that a signature in it covers; nil if it has none. Its lines keep their numbers.
    ///
    /// A clear signature of PGP (RFC 9580 §7), or signify's two lines in front of the text.
    var signedText: ListText? {
        let isPGP = text.hasPrefix("-----BEGIN PGP SIGNED MESSAGE-----")
        guard isPGP || text.hasPrefix("untrusted comment:") else { return nil }
        var signed: [UInt8] = []
        var isHeader = true
        for line in self {
            if isPGP, line.text.hasPrefix("-----BEGIN PGP SIGNATURE-----") { break }
            if !isHeader {
                let isEscaped = isPGP && line.text.hasPrefix("- ")
                signed += line.text.utf8.dropFirst(isEscaped ? 2 : 0)
            }
            signed.append(0x0A)
            if isPGP ? line.isBlank : line.number == 2 { isHeader = false }
        }
        return ListText(signed: String(decoding: signed, as: UTF8.self))
    }

    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The bytes that the text was made of.
    var bytes: [UInt8] { (hasMark ? ListText.mark : []) + text.utf8 }

    /// All lines, the empty ones too.
    func makeIterator() -> Iterator { Iterator(rest: text[...]) }

    /// The lines that say something: neither blank nor comments.
    var telling: some Sequence<ListLine> {
        self.lazy.filter { !$0.isBlank && !$0.isComment }
    }

    /// A walk over the lines.
    struct Iterator: IteratorProtocol {
        fileprivate var rest: Substring
        private var number = 0

        fileprivate init(rest: Substring) { self.rest = rest }

        mutating func next() -> ListLine? {
            guard !rest.isEmpty else { return nil }
            number += 1
            var line = rest
            // By bytes, because CR and LF together are one Character.
            // sha256sum -z and find -print0 end lines with NUL.
            if let end = rest.utf8.firstIndex(where: { $0 == 0x0A || $0 == 0 }) {
                line = rest[..<end]
                rest = rest[rest.utf8.index(after: end)...]
            } else {
                rest = rest[rest.endIndex...]
            }
            if line.utf8.last == 0x0D { line = Substring(line.utf8.dropLast()) }
            return ListLine(text: line, number: number)
        }
    }
}
