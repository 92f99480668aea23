/// A number of bytes as people write and read it: KiB, MiB, GiB, TiB.
public struct ByteCount: Sendable, Hashable, CustomStringConvertible {
    /// The number of bytes.
    public let bytes: Int64

    /// Takes a number of bytes.
    public init(_ bytes: Int64) { self.bytes = bytes }

    /// Reads `1234`, `64MiB`, `1.5 GiB` (powers of 1024) or `10MB` (powers of 1000).
    ///
    /// Nil for anything else, for a negative number, and for more than 2^63-1.
    public init?(text: String) {
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
        "kb": 1000, "mb": 1_000_000, "gb": 1_000_000_000, "tb": 1_000_000_000_000,
    ]

    /// The number with a unit and, from 1 KiB on, one decimal: `512 B`, `1.5 KiB`, `47.4 MiB`.
    public var description: String {
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
