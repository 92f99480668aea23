/// Decimal digits, as header fields and JSON write numbers.
enum DecimalDigits {
    /// Reads one or more digits. Returns nil for other bytes, and if the number does not fit.
    static func value(of digits: some Collection<UInt8>) -> Int64? {
        guard !digits.isEmpty else { return nil }
        var value: Int64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")) ~= digit else { return nil }
            let (product, tooLong) = value.multipliedReportingOverflow(by: 10)
            let (sum, tooMuch) = product.addingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
            if tooLong || tooMuch { return nil }
            value = sum
        }
        return value
    }

    /// The greatest number of digits that a number of 64 bits has.
    static let most = 20

    /// Writes the digits of a number at the end of `room`. Returns the index of the first digit.
    ///
    /// - Parameter room: memory with room for `most` digits.
    static func put(
        _ number: UInt64, intoEndOf room: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        var start = room.count
        var rest = number
        repeat {
            start -= 1
            room[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        return start
    }
}

/// A number of bytes as people write and read it: KiB, MiB, GiB, TiB.
package struct ByteCount: Sendable, Hashable, CustomStringConvertible {
    /// The number of bytes.
    package let bytes: Int64

    /// Takes a number of bytes.
    package init(_ bytes: Int64) { self.bytes = bytes }

    /// Reads `1234`, `64MiB`, `64M`, `1.5 Gi` (powers of 1024) or `10MB` (powers of 1000).
    ///
    /// Returns nil for other text, for a negative number, and for more than 2^63-1.
    package init?(text: String) {
        let split = text.firstIndex { !($0.isASCII && ($0.isNumber || $0 == ".")) }
        let number = text[..<(split ?? text.endIndex)]
        let unit = split.map { text[$0...].trimmingSpaces() } ?? ""
        guard let factor = ByteCount.factors[unit.lowercased()], number.first != "." else {
            return nil
        }
        if let whole = Int64(number) {
            let (product, overflow) = whole.multipliedReportingOverflow(by: factor)
            guard !overflow else { return nil }
            bytes = product
        } else {
            guard factor > 1, let value = Double(number), value.isFinite else { return nil }
            // 1.001 kB is 1001 bytes, though 1.001 has no exact Double.
            let product = (value * Double(factor)).rounded()
            guard product < Double(Int64.max) else { return nil }
            bytes = Int64(product)
        }
    }

    private static let factors: [String: Int64] = [
        "": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
        "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40,
        "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40,
        "kb": 1000, "mb": 1_000_000, "gb": 1_000_000_000, "tb": 1_000_000_000_000,
    ]

    /// The number with a unit, and from 1 KiB on with one decimal: `512 B`, `1.5 KiB`, `47.4 MiB`.
    package var description: String {
        if bytes < 1024 { return "\(bytes) B" }
        var value = Double(bytes)
        var unit = 0
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        value /= 1024
        while value >= 1023.95, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        let tenths = Int64((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
}

/// A number with the noun that it counts, in agreement: `1 resource`, `2 resources`, `3 copies`.
///
/// No other code makes plurals. `verb` makes the verb of the sentence agree too.
package struct Counted: Sendable, Hashable, CustomStringConvertible {
    /// The number and the noun.
    package let description: String

    /// Takes a number, the noun's singular, and its plural if that is not the singular with an `s`.
    package init(_ count: some BinaryInteger, _ noun: String, plural: String? = nil) {
        description = "\(count) \(count == 1 ? noun : plural ?? noun + "s")"
    }

    /// Returns a number with commas between thousands: `63,439`.
    package static func grouped(_ count: some BinaryInteger) -> String {
        var text = "\(count)"
        var end = text.index(text.endIndex, offsetBy: -3, limitedBy: text.startIndex)
        while let place = end, place > text.startIndex, text[text.index(before: place)] != "-" {
            text.insert(",", at: place)
            end = text.index(place, offsetBy: -3, limitedBy: text.startIndex)
        }
        return text
    }

    /// Returns the form of a verb that agrees with a number: the first for 1, else the second.
    package static func verb(
        _ count: some BinaryInteger, _ singular: String, _ plural: String
    ) -> String {
        count == 1 ? singular : plural
    }
}

extension Duration {
    /// The span in seconds, rounded up to whole ones.
    var wholeSeconds: Int64 {
        components.seconds.addingSaturated(components.attoseconds > 0 ? 1 : 0)
    }
}

extension Int64 {
    /// Returns the sum, clamped to the range of Int64.
    ///
    /// Sizes come from manifests, so even a few can add up to more than an Int64 can hold.
    package func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}
