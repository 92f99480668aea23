/// A word of a line, with its place.
typealias ListWord = Located<String>

extension ListWord {
    /// Returns another text with the same place.
    func with(_ text: some StringProtocol) -> ListWord {
        ListWord(value: String(text), place: place)
    }
}

/// A line of a list, without its line end.
struct ListLine {
    let text: Substring
    let number: Int

    /// Whether the line has only white space.
    var isBlank: Bool { text.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 } }

    /// Whether the line's first word begins with `#`.
    var isComment: Bool {
        text.utf8.first { $0 != 0x20 && $0 != 0x09 } == UInt8(ascii: "#")
    }

    /// Whether the line begins with white space.
    var isIndented: Bool { text.utf8.first == 0x20 || text.utf8.first == 0x09 }

    /// The place of the line's first character.
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

    /// Returns parts of the text with their places. The parts must be in the order of the text.
    func words(_ parts: [Substring]) -> [ListWord] {
        // Columns are counted from one part to the next, because a line may have very many parts.
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

/// The lines of a list, whose text is valid UTF-8. Only the current line is in memory.
struct ListText: Sequence {
    private let source: ManifestBytes

    /// Checks the encoding and the length of a text.
    ///
    /// A byte order mark at the beginning is skipped.
    init(_ bytes: ManifestBytes, log: DiagnosticLog) throws(DecodingStop) {
        source = bytes
        bytes.rewind()
        var utf8 = UTF8Check()
        var chunk: [UInt8] = []
        var length = 0
        repeat {
            try bytes.next(&chunk)
            length += chunk.count
            guard length <= ListReader.greatestSize else {
                throw ManifestBytes.tooLong(ListReader.greatestSize)
            }
            if utf8.advance(over: chunk) < chunk.count || (chunk.isEmpty && utf8.isInside) {
                log.error(at: utf8.position, UTF8Check.message)
                throw .refused
            }
        } while !chunk.isEmpty
    }

    private init(_ bytes: ManifestBytes) { source = bytes }

    /// Whether a part of the text could not be read again.
    var isCut: Bool { source.hasFailed }

    /// The first 64 KiB of the text.
    var start: [UInt8] { source.piece(at: 0, count: 64 << 10) ?? [] }

    /// Returns all bytes, with the byte order mark.
    func whole() throws(DecodingStop) -> [UInt8] { try source.whole(most: ListReader.greatestSize) }

    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The bytes of a text without its byte order mark.
    static func withoutMark(_ bytes: [UInt8]) -> [UInt8] {
        bytes.starts(with: mark) ? Array(bytes.dropFirst(mark.count)) : bytes
    }

    /// Returns the text that a signature in it covers. Its lines keep their numbers.
    ///
    /// The signature is a clear signature of PGP (RFC 9580 §7), or signify's two lines before the
    /// text. Returns nil if the text has no signature.
    func signedText(log: DiagnosticLog) -> ListText? {
        let first = first { _ in true }?.text ?? ""
        let isPGP = first.hasPrefix("-----BEGIN PGP SIGNED MESSAGE-----")
        guard isPGP || first.hasPrefix("untrusted comment:") else { return nil }
        var signed: [UInt8] = []
        var isHeader = true
        var isSigned = !isPGP
        for line in self {
            if isPGP, line.text.hasPrefix("-----BEGIN PGP SIGNATURE-----") {
                isSigned = true
                break
            }
            if !isHeader {
                let isEscaped = isPGP && line.text.hasPrefix("- ")
                signed += line.text.utf8.dropFirst(isEscaped ? 2 : 0)
            }
            signed.append(0x0A)
            if isPGP ? line.isBlank : line.number == 2 { isHeader = false }
        }
        if !isSigned {
            log.error(at: TextPosition(), "the signature at its end is missing; was it cut off?")
        }
        return ListText(ManifestBytes(signed))
    }

    /// Makes an iterator over all lines, also empty ones.
    func makeIterator() -> Iterator { Iterator(source) }

    /// The lines with content: neither blank lines nor comments.
    var telling: some Sequence<ListLine> {
        self.lazy.filter { !$0.isBlank && !$0.isComment }
    }

    /// An iterator over the lines.
    struct Iterator: IteratorProtocol {
        private let source: ManifestBytes
        private var chunk: [UInt8]
        /// The offset in the chunk at which the next line begins.
        private var at: Int
        /// The offset in the text at which the next chunk begins.
        private var offset: Int
        private var number = 0

        fileprivate init(_ source: ManifestBytes) {
            self.source = source
            // The first chunk has the whole byte order mark, if there is one.
            let count = Swift.max(source.chunkSize, ListText.mark.count)
            chunk = source.piece(at: 0, count: count) ?? []
            offset = chunk.count
            at = chunk.starts(with: ListText.mark) ? ListText.mark.count : 0
        }

        mutating func next() -> ListLine? {
            // The bytes of this line that were in earlier chunks.
            var start: [UInt8] = []
            while true {
                // sha256sum -z and find -print0 end lines with NUL.
                if let end = chunk[at...].firstIndex(where: { $0 == 0x0A || $0 == 0 }) {
                    let line = line(start, at..<end)
                    at = end + 1
                    return line
                }
                start += chunk[at...]
                chunk = source.piece(at: offset, count: source.chunkSize) ?? []
                offset += chunk.count
                at = 0
                if chunk.isEmpty { return start.isEmpty ? nil : line(start, 0..<0) }
            }
        }

        private mutating func line(_ start: [UInt8], _ range: Range<Int>) -> ListLine {
            number += 1
            var text = start + chunk[range]
            if text.last == 0x0D { text.removeLast() }
            return ListLine(text: String(decoding: text, as: UTF8.self)[...], number: number)
        }
    }
}

extension ListText {
    /// Returns the texts in a tar archive that form a list: APKINDEX, or each package's `desc`.
    ///
    /// Blank lines separate the texts. Returns nil if the bytes are no tar archive with such files.
    static func texts(inTar bytes: [UInt8]) -> [UInt8]? {
        let block = 512
        guard bytes.count >= block, bytes[257..<262].elementsEqual("ustar".utf8) else { return nil }
        var text: [UInt8] = []
        var offset = 0
        // GNU tar and pax write a long name in an entry before the file's own entry.
        var longName: ArraySlice<UInt8>?
        while offset + block <= bytes.count {
            let header = bytes[offset..<(offset + block)]
            offset += block
            let digits = header.dropFirst(124).prefix(12).filter { (0x30...0x37).contains($0) }
            // The blocks at the archive's end are empty, so their size is 0.
            let size = Int("0" + String(decoding: digits, as: UTF8.self), radix: 8) ?? 0
            guard size <= bytes.count - offset else { break }
            let body = bytes[offset..<(offset + size)]
            let name: ArraySlice<UInt8> = longName ?? header.prefix(100).prefix { $0 != 0 }
            switch header[header.startIndex + 156] {
            case UInt8(ascii: "L"): longName = body.prefix { $0 != 0 }
            case UInt8(ascii: "x"): longName = path(inPax: body)
            case UInt8(ascii: "g"): break
            default:
                longName = nil
                let isList =
                    name.elementsEqual("APKINDEX".utf8) || name.elementsEqual("desc".utf8)
                    || name.reversed().starts(with: "csed/".utf8)
                if isList { text += body + [0x0A, 0x0A] }
            }
            offset += (size + block - 1) / block * block
        }
        return text.isEmpty ? nil : text
    }

    /// Returns the path in an extended header: `LENGTH path=PATH` and a line end (pax(1)).
    ///
    /// Returns nil if the header has no path.
    private static func path(inPax body: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        for record in body.split(separator: 0x0A) {
            guard let space = record.firstIndex(of: 0x20) else { continue }
            let field = record[(space + 1)...]
            if field.starts(with: "path=".utf8) { return field.dropFirst(5) }
        }
        return nil
    }
}

extension StringProtocol where UTF8View: BidirectionalCollection {
    /// Whether the text begins with a scheme and two slashes.
    var isURL: Bool {
        guard let (scheme, rest) = halves(atFirst: ":") else { return false }
        return rest.hasPrefix("//") && Substring(scheme).isURLScheme
    }

    /// Whether the text can be the scheme of a URL (RFC 3986 §3.1).
    var isURLScheme: Bool {
        !isEmpty
            && utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                    || "+-.".utf8.contains(byte)
            }
    }
}

extension String {
    /// The text without `./` at its beginning, as find(1) writes it.
    var withoutDotSlash: String { hasPrefix("./") ? String(dropFirst(2)) : self }

    /// Whether the text is the folder of the project itself, whose lock file a list is.
    ///
    /// Such a package is no entry of the list: the project has it, and no server does.
    var isProjectFolder: Bool { [".", "./"].contains(self) }
}
