/// Decimal digits, as lengths and seconds are written.
package enum DecimalDigits {
    /// The number; nil for anything but one or more digits, and when it does not fit.
    static func value(of digits: some Collection<UInt8>) -> Int64? {
        value(of: digits, sign: 1)
    }

    /// The number, behind a minus where it is negative; nil for anything else, and when it does not fit.
    package static func signedValue(of text: UnsafeBufferPointer<UInt8>) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        return value(of: isNegative ? text[1...] : text[...], sign: isNegative ? -1 : 1)
    }

    /// The most digits that a number of 64 bits has.
    package static let most = 20

    /// Puts the digits of a number into memory, so that they end where that ends; returns where they begin.
    ///
    /// - Parameter room: has room for `most` of them.
    package static func put(
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

    private static func value(of digits: some Collection<UInt8>, sign: Int64) -> Int64? {
        guard !digits.isEmpty else { return nil }
        var value: Int64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")) ~= digit else { return nil }
            let (product, tooLong) = value.multipliedReportingOverflow(by: 10)
            let (sum, tooMuch) = product.addingReportingOverflow(
                sign * Int64(digit - UInt8(ascii: "0")))
            if tooLong || tooMuch { return nil }
            value = sum
        }
        return value
    }
}
