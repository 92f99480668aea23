/// Reads the pieces that header fields are made of, byte by byte (RFC 9110 §5.6).
///
/// A scanner is a position in a value. Each reading method either takes the piece that it names, or
/// keeps the position and returns nil.
struct FieldScanner {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: some Sequence<UInt8>) { rest = Array(bytes)[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// Spaces and tabs.
    mutating func skipSpaces() {
        rest = rest.drop { $0 == 0x20 || $0 == 0x09 }
    }

    mutating func take(_ byte: UInt8) -> Bool {
        guard rest.first == byte else { return false }
        rest.removeFirst()
        return true
    }

    mutating func take(_ text: String) -> Bool {
        guard rest.starts(with: text.utf8) else { return false }
        rest.removeFirst(text.utf8.count)
        return true
    }

    /// A token (§5.6.2), as it was written.
    mutating func token() -> String? {
        let bytes = rest.prefix(while: Token.isTokenByte)
        guard !bytes.isEmpty else { return nil }
        rest = rest.dropFirst(bytes.count)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A quoted string (§5.6.4) without its quotes and backslashes.
    mutating func quotedString() -> [UInt8]? {
        var scan = rest
        guard scan.popFirst() == UInt8(ascii: "\"") else { return nil }
        var content: [UInt8] = []
        while let byte = scan.popFirst() {
            switch byte {
            case UInt8(ascii: "\""):
                rest = scan
                return content
            case UInt8(ascii: "\\"):
                guard let quoted = scan.popFirst() else { return nil }
                content.append(quoted)
            default: content.append(byte)
            }
        }
        return nil
    }

    /// A decimal number without sign; nil also when it is greater than `Int64.max`.
    mutating func number() -> Int64? {
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")) ~= $0 }
        guard let value = DecimalDigits.value(of: digits) else { return nil }
        rest = rest.dropFirst(digits.count)
        return value
    }

    /// Takes everything up to one of these bytes, which stays.
    mutating func upTo(_ isEnd: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let bytes = rest.prefix { !isEnd($0) }
        rest = rest.dropFirst(bytes.count)
        return bytes
    }
}

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
