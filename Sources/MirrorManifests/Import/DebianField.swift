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

    /// The names of the fields with which a text begins, to the first line that is none.
    static func names(inFirstParagraphOf lines: [ListLine]) -> Set<String> {
        var names: Set<String> = []
        var last: Int?
        for line in lines {
            // Blank lines are not among the lines.
            if let last, line.number > last + 1 { break }
            last = line.number
            guard line.isIndented || name(of: line) != nil else { break }
            if let name = name(of: line) { names.insert(String(name)) }
        }
        return names
    }
}
