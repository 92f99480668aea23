/// A length of time as people write and read it: `90s`, `15m`, `6h`, `1d`, `2w`.
package struct DurationText: Sendable, Hashable, CustomStringConvertible {
    /// 100,000 years: every later sum stays within an Int64 of milliseconds.
    package static let longest: Int64 = 3_155_760_000_000

    /// The length in seconds.
    package let seconds: Int64

    /// Takes seconds.
    package init(seconds: Int64) { self.seconds = seconds }

    /// Reads a whole number and a unit, `s` where there is none; nil for anything else.
    package init?(text: String) {
        guard let last = text.utf8.last else { return nil }
        let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")) ~= last
        let factor = isDigit ? 1 : DurationText.factors[last]
        let digits = isDigit ? text[...] : text.dropLast()
        guard let factor, digits.utf8.allSatisfy({ (0x30...0x39) ~= $0 }),
            let number = Int64(digits)
        else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: factor)
        guard !overflow, product <= DurationText.longest else { return nil }
        seconds = product
    }

    private static let factors: [UInt8: Int64] = [
        UInt8(ascii: "s"): 1, UInt8(ascii: "m"): 60, UInt8(ascii: "h"): 3600,
        UInt8(ascii: "d"): 86400, UInt8(ascii: "w"): 604_800,
    ]

    /// The length in its two greatest units: `42 s`, `3 h 5 min`, `12 d`.
    package var description: String {
        let units: [(Int64, String)] = [(86400, "d"), (3600, "h"), (60, "min"), (1, "s")]
        var rest = max(seconds, 0)
        guard let first = units.firstIndex(where: { rest >= $0.0 }) else { return "0 s" }
        var words: [String] = []
        for (length, unit) in units[first...].prefix(2) where rest >= length {
            words.append("\(rest / length) \(unit)")
            rest %= length
        }
        return words.joined(separator: " ")
    }
}
