extension ListKind {
    /// Checksums as sha256sum(1) and the like write them, in GNU's form and in that of the BSDs.
    ///
    /// The number of digits, or the name before the parentheses, gives the algorithm. Maven writes
    /// a digest alone. It belongs to the file that the list is named after: `a.jar` for
    /// `a.jar.sha1`.
    static var sums: ListKind {
        ListKind(
            "a list of checksums", "plain text", .text(read), .lines(isDigestAlone), .grammar(flaw))
    }

    private static func flaw(_ line: ListLine) -> String? {
        sum(in: line) == nil && otherSum(in: line) == nil
            ? "is no digest and a name, as sha256sum writes them" : nil
    }

    private static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        let single = Array(text.telling.prefix(2))
        if single.count == 1, addSingle(single[0], to: collector) { return }
        var sizes: [String: ListWord] = [:]
        for line in text where !line.isBlank {
            if line.isComment {
                if let (name, size) = sizeNote(in: line) { sizes[name] = size }
                continue
            }
            guard var entry = sum(in: line) else {
                if let other = otherSum(in: line) {
                    collector.leaveOut(
                        other.name, "its digest is \(other.kind), which mirror does not compute")
                    continue
                }
                collector.refuse(line, flaw(line) ?? "")
                continue
            }
            if entry.path?.value == "-" {
                collector.note("left out: made of a standard input", "sum", at: line.place)
                continue
            }
            entry.size = entry.path.flatMap { sizes[$0.value] }
            collector.add(entry)
        }
    }

    /// Whether the only line of a text is a digest without a name.
    private static func isDigestAlone(_ lines: [ListLine]) -> Bool {
        lines.count == 1 && DigestAlgorithm(ofHex: lines[0].trimmed) != nil
    }

    /// Adds the file that the list itself is named after.
    ///
    /// Returns false if the line names another file.
    private static func addSingle(_ line: ListLine, to collector: ListCollector) -> Bool {
        let words = line.words
        let end = words.count == 1 ? line.text.endIndex : words.dropFirst().first?.startIndex
        guard let hex = words.first, let algorithm = DigestAlgorithm(ofHex: hex), let end else {
            return false
        }
        let name = words.count == 1 ? "" : line.text[end...].drop { $0 == "*" }
        let stem = collector.builder.check.origin.listName.flatMap { list in
            DigestAlgorithm.allCases.contains { list.lowercased().hasSuffix("." + $0.rawValue) }
                ? list.halves(atLast: ".")?.before : nil
        }
        // Some builds write the absolute path of the file on the machine that made it.
        let isOfList =
            words.count == 1 || name == "-" || name.hasPrefix("/")
            || name.hasSuffix(stem.map { "/" + $0 } ?? "/")
        guard isOfList else { return false }
        guard let stem else {
            guard words.count == 1 else { return false }
            collector.log.error(
                at: line.place,
                "a digest without a name; save the list as the file's name with .\(algorithm.rawValue)"
                    + " behind it")
            return true
        }
        var entry = ListEntry(named: ListWord(value: String(stem), place: line.place))
        entry.digests = [(algorithm, line.word(hex))]
        collector.add(entry)
        return true
    }

    /// Returns the name and the size in a comment of Fedora's form: `# NAME: 123 bytes`.
    ///
    /// Returns nil for any other comment.
    private static func sizeNote(in line: ListLine) -> (name: String, size: ListWord)? {
        guard let (name, rest) = line.trimmed.dropFirst().halves(atLast: ":"),
            rest.hasSuffix(" bytes")
        else { return nil }
        let size = rest.dropFirst().dropLast(6)
        guard !size.isEmpty, size.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return (String(name).trimmed, line.word(size))
    }

    /// Returns the file that a line names, with its digest. Returns nil for other lines.
    private static func sum(in line: ListLine) -> ListEntry? { plain(line) ?? tagged(line) }

    /// Reads `HEX  NAME` or `HEX *NAME`. Returns nil for other lines.
    ///
    /// A backslash before `HEX` means that the name has escapes.
    private static func plain(_ line: ListLine) -> ListEntry? {
        let isEscaped = line.text.utf8.first == UInt8(ascii: "\\")
        let text = isEscaped ? Substring(line.text.utf8.dropFirst()) : line.text
        guard let (hex, rest) = text.halves(atFirst: " "),
            let algorithm = DigestAlgorithm(ofHex: hex)
        else { return nil }
        let isMarked = rest.utf8.first == 0x20 || rest.utf8.first == UInt8(ascii: "*")
        let name = isMarked ? Substring(rest.utf8.dropFirst()) : rest
        return sum(algorithm, hex, name, isEscaped: isEscaped, line)
    }

    /// Reads `SHA256 (NAME) = HEX`, or openssl's `SHA256(NAME)= HEX`. Returns nil for other lines.
    private static func tagged(_ line: ListLine) -> ListEntry? {
        let isEscaped = line.text.utf8.first == UInt8(ascii: "\\")
        let text = isEscaped ? Substring(line.text.utf8.dropFirst()) : line.text
        guard let (kind, rest) = text.halves(atFirst: "("),
            let (name, tail) = rest.halves(atLast: ")"),
            let (space, value) = tail.halves(atFirst: "="), space.allSatisfy({ $0 == " " })
        else { return nil }
        let hex = value.drop { $0 == " " }
        let plain = kind.filter { $0 != " " && $0 != "-" }.lowercased()
        guard let algorithm = DigestAlgorithm(rawValue: plain),
            DigestAlgorithm(ofHex: hex) == algorithm
        else { return nil }
        return sum(algorithm, hex, name, isEscaped: isEscaped, line)
    }

    /// Reads a line with a digest that mirror does not compute, such as `BLAKE2b (NAME) = HEX`.
    ///
    /// Returns nil for other lines.
    private static func otherSum(in line: ListLine) -> (kind: String, name: ListWord)? {
        if let (hex, rest) = line.text.halves(atFirst: " "), hex.utf8.count == 56,
            Hex.decode(hex.utf8) != nil
        {
            return ("sha224", line.word(rest.drop { $0 == " " || $0 == "*" }))
        }
        guard let (kind, rest) = line.text.halves(atFirst: "("),
            let (name, tail) = rest.halves(atLast: ")"), !kind.isEmpty, !name.isEmpty,
            let (space, value) = tail.halves(atFirst: "="), space.allSatisfy({ $0 == " " }),
            let digits = Hex.decode(value.drop { $0 == " " }.utf8), digits.count >= 4
        else { return nil }
        return ("\(Quoted(String(kind).trimmed, limit: 40))", line.word(name))
    }

    private static func sum(
        _ algorithm: DigestAlgorithm, _ hex: Substring, _ name: Substring, isEscaped: Bool,
        _ line: ListLine
    ) -> ListEntry? {
        guard !name.isEmpty else { return nil }
        var word = line.word(name)
        if isEscaped { word.value = unescaped(word.value) }
        word.value = word.value.withoutDotSlash
        var entry = ListEntry(named: word)
        entry.digests = [(algorithm, line.word(hex))]
        return entry
    }

    /// Replaces the escapes `\\`, `\n` and `\r` in a name.
    private static func unescaped(_ name: String) -> String {
        var bytes: [UInt8] = []
        var isEscape = false
        for byte in name.utf8 {
            if isEscape {
                isEscape = false
                bytes.append(
                    byte == UInt8(ascii: "n") ? 0x0A : byte == UInt8(ascii: "r") ? 0x0D : byte)
            } else if byte == UInt8(ascii: "\\") {
                isEscape = true
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension DigestAlgorithm {
    /// Finds the algorithm whose digests have this number of digits.
    ///
    /// Returns nil if the text is no digest.
    init?(ofHex hex: Substring) {
        guard Hex.decode(hex.utf8) != nil,
            let found = DigestAlgorithm.allCases.first(where: {
                $0.byteCount * 2 == hex.utf8.count
            })
        else { return nil }
        self = found
    }
}
