internal import MirrorModel

/// Checksums as sha256sum(1) and the like write them, in GNU's form and in that of the BSDs.
///
/// The number of digits, or the name before the parentheses, tells the algorithm.
enum SumsList {
    /// A line that was understood.
    struct Sum {
        let algorithm: DigestAlgorithm
        let hex: ListWord
        var name: ListWord
    }

    static func flaw(_ line: ListLine) -> String? {
        sum(in: line) == nil ? "is no digest and a name, as sha256sum writes them" : nil
    }

    static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        for line in text.telling {
            guard let sum = sum(in: line) else {
                collector.refuse(line, flaw(line) ?? "")
                continue
            }
            if sum.name.value == "-" {
                collector.note("left out: made of a standard input", "sum", at: line.place)
                continue
            }
            var entry = ListEntry(named: sum.name)
            entry.digests = [(sum.algorithm, sum.hex)]
            collector.add(entry)
        }
    }

    static func sum(in line: ListLine) -> Sum? { plain(line) ?? tagged(line) }

    /// `HEX  NAME` or `HEX *NAME`; a backslash before them says that the name has escapes.
    private static func plain(_ line: ListLine) -> Sum? {
        let isEscaped = line.text.utf8.first == UInt8(ascii: "\\")
        let text = isEscaped ? Substring(line.text.utf8.dropFirst()) : line.text
        guard let (hex, rest) = text.halves(atFirst: " "), let algorithm = algorithm(of: hex)
        else { return nil }
        let isMarked = rest.utf8.first == 0x20 || rest.utf8.first == UInt8(ascii: "*")
        let name = isMarked ? Substring(rest.utf8.dropFirst()) : rest
        return sum(algorithm, hex, name, isEscaped: isEscaped, line)
    }

    /// `SHA256 (NAME) = HEX`, or openssl's `SHA256(NAME)= HEX`.
    private static func tagged(_ line: ListLine) -> Sum? {
        let isEscaped = line.text.utf8.first == UInt8(ascii: "\\")
        let text = isEscaped ? Substring(line.text.utf8.dropFirst()) : line.text
        guard let (kind, rest) = text.halves(atFirst: "("),
            let (name, tail) = rest.halves(atLast: ")"),
            let (space, value) = tail.halves(atFirst: "="), space.allSatisfy({ $0 == " " })
        else { return nil }
        let hex = value.drop { $0 == " " }
        let plain = kind.filter { $0 != " " && $0 != "-" }.lowercased()
        guard let algorithm = DigestAlgorithm(rawValue: plain), self.algorithm(of: hex) == algorithm
        else { return nil }
        return sum(algorithm, hex, name, isEscaped: isEscaped, line)
    }

    private static func sum(
        _ algorithm: DigestAlgorithm, _ hex: Substring, _ name: Substring, isEscaped: Bool,
        _ line: ListLine
    ) -> Sum? {
        guard !name.isEmpty else { return nil }
        var word = line.word(name)
        if isEscaped { word.value = SumsEscapes.unescaped(word.value) }
        word.value = word.value.withoutDotSlash
        return Sum(algorithm: algorithm, hex: line.word(hex), name: word)
    }

    /// The algorithm whose values have so many digits; nil if the text is no value.
    static func algorithm(of hex: Substring) -> DigestAlgorithm? {
        guard Hex.decode(hex.utf8) != nil else { return nil }
        return DigestAlgorithm.allCases.first { $0.byteCount * 2 == hex.utf8.count }
    }
}
