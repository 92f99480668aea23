internal import MirrorModel

/// A line `Name: value`, as Debian's control files have them.
enum DebianField {
    /// The name before the colon; nil for any other line.
    static func name(of line: ListLine) -> Substring? {
        guard !line.isIndented, let colon = line.text.utf8.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        let name = line.text[..<colon]
        return !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } ? name : nil
    }

    /// The text behind the name and its colon.
    static func value(of line: ListLine, behind name: Substring) -> ListWord {
        let rest = Substring(line.text.utf8[name.endIndex...].dropFirst())
        return line.word(Substring(rest.utf8.drop { $0 == 0x20 || $0 == 0x09 }))
    }

    /// Why a text's first paragraph is not of a format, by its keys; nil if it is.
    static func misfit(
        of text: ListText, _ format: ListFormat, all: Set<String> = [], some: Set<String> = []
    ) -> ListDetection.Misfit? {
        var found: Set<String> = []
        var depth = 0
        for line in text {
            if line.text.hasPrefix("-----BEGIN PGP SIGNED") || line.text.hasPrefix("Hash: ") {
                continue
            }
            if line.isBlank, found.isEmpty { continue }
            guard !line.isBlank, line.isIndented || name(of: line) != nil else { break }
            if let name = name(of: line) { found.insert(String(name)) }
            depth += 1
            if depth == 64 { break }
        }
        if !found.isEmpty, all.isSubset(of: found), some.isEmpty || !some.isDisjoint(with: found) {
            return nil
        }
        let missing = all.subtracting(found).sorted() + (some.isEmpty ? [] : [some.sorted()[0]])
        return ListDetection.Misfit(
            format: format, depth: depth, place: TextPosition(),
            reason: "its first paragraph has no \(missing.first ?? "field")")
    }
}
