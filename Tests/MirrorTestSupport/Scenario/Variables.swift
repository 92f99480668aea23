/// The bytes that a scenario names, and what `%NAME%` in its lines stands for.
struct Variables: Sendable {
    private var texts: [String: String] = [:]
    private var contents: [String: [UInt8]] = [:]

    init(_ texts: [String: String] = [:]) { self.texts = texts }

    /// Takes the line `bytes NAME = RECIPE`.
    mutating func define(_ node: Outline) throws(ScenarioFlaw) {
        let parts = node.words.rest.split(separator: "=", maxSplits: 1)
        guard parts.count == 2 else { throw node.flaw("expected: bytes NAME = RECIPE") }
        contents[parts[0].trimmed] = try make(parts[1].trimmed, node)
    }

    /// The bytes of a name, or of a quoted text.
    func bytes(_ name: String, _ node: Outline) throws(ScenarioFlaw) -> [UInt8] {
        if name.hasPrefix("\"") { return Array(Words.split(name).joined(separator: " ").utf8) }
        guard let bytes = contents[name] else { throw node.flaw("no bytes are named \(name)") }
        return bytes
    }

    private func make(_ recipe: String, _ node: Outline) throws(ScenarioFlaw) -> [UInt8] {
        if recipe.hasPrefix("\"") { return try bytes(recipe, node) }
        let words = Words.split(recipe)
        if let count = words.first.flatMap({ Int($0) }) {
            guard words.count == 2, words[1].hasPrefix("seed="),
                let seed = UInt64(words[1].dropFirst(5))
            else { throw node.flaw("expected: COUNT seed=N") }
            return TestBytes.make(count, seed: seed)
        }
        switch words.first {
        case "gzip" where words.count == 2: return Gzip.encode(try bytes(words[1], node))
        case "join":
            var joined: [UInt8] = []
            for word in words.dropFirst() { joined += try slice(word, node) }
            return joined
        default: throw node.flaw("expected: COUNT seed=N, gzip NAME, join NAME[A-B]… or a text")
        }
    }

    /// The bytes of `NAME`, or some of them: `NAME[A-B]`, both inclusive, or `NAME[A-]`.
    func slice(_ word: String, _ node: Outline) throws(ScenarioFlaw) -> [UInt8] {
        guard let bracket = word.firstIndex(of: "["), word.last == "]" else {
            return try bytes(word, node)
        }
        let whole = try bytes(String(word[..<bracket]), node)
        let range = try ByteSpan(
            String(word[word.index(after: bracket)...].dropLast()), of: whole.count, node)
        return Array(whole[range.first..<range.end])
    }

    /// The line with every `%NAME%` replaced; `%%` is a percent sign.
    func replace(in text: String, line: Int) throws(ScenarioFlaw) -> String {
        var result = ""
        for (index, piece) in text.split(separator: "%", omittingEmptySubsequences: false)
            .enumerated()
        {
            if index % 2 == 0 {
                result += piece
            } else {
                result += piece.isEmpty ? "%" : try value(of: String(piece), line)
            }
        }
        return result
    }

    private func value(of name: String, _ line: Int) throws(ScenarioFlaw) -> String {
        if let text = texts[name] { return text }
        let parts = name.split(separator: ":", maxSplits: 1).map(String.init)
        if parts.count == 2, let bytes = contents[parts[1]] {
            switch parts[0] {
            case "SIZE": return String(bytes.count)
            case "SHA256": return Checksum.sha256(bytes)
            case "SHA512": return Checksum.sha512(bytes)
            case "SHA1": return Checksum.sha1(bytes)
            case "INTEGRITY": return Checksum.integrity(bytes)
            case "REPR-DIGEST": return Checksum.reprDigest(bytes)
            default: break
            }
        }
        throw ScenarioFlaw(line: line, message: "%\(name)% stands for nothing")
    }
}

/// Consecutive bytes of a whole: `A-B`, both inclusive, or `A-`.
struct ByteSpan {
    let first: Int
    let end: Int

    init(_ text: String, of whole: Int, _ node: Outline) throws(ScenarioFlaw) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let first = Int(parts[0]), first <= whole,
            let last = parts[1].isEmpty ? whole - 1 : Int(parts[1]), last < whole
        else { throw node.flaw("\(text) is no range of \(whole) bytes") }
        self.first = first
        self.end = last + 1
    }
}
