/// The grammar of numbers in JSON; TOML's decimal numbers follow it too, apart from `+` and `_`.
enum JSONNumber {
    /// Whether a text is a number by RFC 8259 §6: `-`? int frac? exp?
    static func matches(_ text: [UInt8]) -> Bool {
        var rest = text[...]
        let digits = { (rest: inout ArraySlice<UInt8>) -> Int in
            let run = rest.prefix { (0x30...0x39).contains($0) }
            rest = rest[run.endIndex...]
            return run.count
        }
        if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
        let startsWithZero = rest.first == UInt8(ascii: "0")
        let whole = digits(&rest)
        guard whole == 1 || (whole > 1 && !startsWithZero) else { return false }
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            guard digits(&rest) > 0 else { return false }
        }
        if let mark = rest.first, mark | 0x20 == UInt8(ascii: "e") {
            rest.removeFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") {
                rest.removeFirst()
            }
            guard digits(&rest) > 0 else { return false }
        }
        return rest.isEmpty
    }
}
