/// A date as HTTP writes it, in whole seconds (RFC 9110 §5.6.7).
public struct HTTPDate: Sendable, Hashable, Comparable {
    /// Seconds since 1970-01-01T00:00:00Z.
    public let seconds: Int64

    /// Takes seconds since the Unix epoch.
    public init(seconds: Int64) { self.seconds = seconds }

    /// Whether the left date is earlier.
    public static func < (left: HTTPDate, right: HTTPDate) -> Bool { left.seconds < right.seconds }

    /// Reads one of the three forms that HTTP knows; nil for anything else.
    ///
    /// A year of two digits is 1970…2069.
    public init?(_ text: String) {
        var text = text
        guard let date = text.withUTF8({ HTTPDate($0) }) else { return nil }
        self = date
    }

    /// Reads the bytes of a field in the same way.
    init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let seconds = HTTPDate.secondsOfUsual(bytes) ?? HTTPDate.seconds(of: bytes) else {
            return nil
        }
        self.seconds = seconds
    }

    /// Reads `Sun, 06 Nov 1994 08:49:37 GMT`, the form that is sent: every response has two of them.
    /// Nil for whatever `seconds(of:)` must look at.
    private static func secondsOfUsual(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard bytes.count == 29, let start = UnsafeRawPointer(bytes.baseAddress) else { return nil }
        func word(_ at: Int) -> UInt32 {
            UInt32(littleEndian: start.loadUnaligned(fromByteOffset: at, as: UInt32.self))
        }
        // 100 and more where one of the two is no digit.
        func number(_ at: Int) -> UInt32 {
            let (tens, ones) = (bytes[at] &- 0x30, bytes[at + 1] &- 0x30)
            return tens > 9 || ones > 9 ? 100 : UInt32(tens) * 10 + UInt32(ones)
        }
        guard isUsual(weekday: word(0)), bytes[4] == 0x20, bytes[7] == 0x20,
            let month = month(word(8)), bytes[16] == 0x20, bytes[19] == 0x3A, bytes[22] == 0x3A,
            // " GMT"
            word(25) == 0x544D_4720
        else { return nil }
        let (day, century, year) = (number(5), number(12), number(14))
        let (hour, minute, second) = (number(17), number(20), number(23))
        guard day < 100, century < 100, year < 100, hour < 24, minute < 60, second < 60 else {
            return nil
        }
        return CivilTime(
            year: Int64(century * 100 + year), month: month, day: Int64(day),
            secondOfDay: Int64(hour * 3600 + minute * 60 + second))?.seconds
    }

    /// Whether four bytes are the short name of a day and a comma.
    private static func isUsual(weekday bytes: UInt32) -> Bool {
        switch bytes {
        case 0x2C6E_6F4D, 0x2C65_7554, 0x2C64_6557, 0x2C75_6854, 0x2C69_7246, 0x2C74_6153,
            0x2C6E_7553:
            true
        default: false
        }
    }

    /// The number of the month, 1…12, whose name four bytes are, and a space.
    private static func month(_ bytes: UInt32) -> Int64? {
        switch bytes {
        case 0x206E_614A: 1
        case 0x2062_6546: 2
        case 0x2072_614D: 3
        case 0x2072_7041: 4
        case 0x2079_614D: 5
        case 0x206E_754A: 6
        case 0x206C_754A: 7
        case 0x2067_7541: 8
        case 0x2070_6553: 9
        case 0x2074_634F: 10
        case 0x2076_6F4E: 11
        case 0x2063_6544: 12
        default: nil
        }
    }

    private static func seconds(of bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        var end = 0
        while end < bytes.count, bytes[end] != UInt8(ascii: ","), bytes[end] != UInt8(ascii: " ") {
            end += 1
        }
        let name = UnsafeBufferPointer(rebasing: bytes[..<end])
        let rest = UnsafeBufferPointer(rebasing: bytes[end...])
        guard let form = forms.first(where: { $0.pattern.utf8CodeUnitCount == rest.count }),
            isDayName(name, isShort: form.hasShortName),
            let fields = Fields(rest, as: form.pattern), fields.hour < 24, fields.minute < 60,
            // 60 is a leap second, which Unix time does not count.
            fields.second <= 60,
            let month = month(in: rest, at: fields.month)
        else { return nil }
        var year = fields.year
        if form.hasShortYear { year += year < 70 ? 2000 : 1900 }
        return CivilTime(
            year: year, month: month, day: fields.day,
            secondOfDay: fields.hour * 3600 + fields.minute * 60 + min(fields.second, 59))?.seconds
    }

    /// The text behind the name of the day, as patterns for `Fields`; their lengths all differ.
    private static let forms: [(pattern: StaticString, hasShortName: Bool, hasShortYear: Bool)] = [
        (", DD NNN YYYY hh:mm:ss GMT", hasShortName: true, hasShortYear: false),
        (", DD-NNN-YY hh:mm:ss GMT", hasShortName: false, hasShortYear: true),
        (" NNN dD hh:mm:ss YYYY", hasShortName: true, hasShortYear: false),
    ]

    /// The numbers of a date, each taken from the positions of its letter in a pattern.
    private struct Fields {
        var day: Int64 = 0
        /// The position at which the name of the month begins.
        var month = 0
        var year: Int64 = 0
        var hour: Int64 = 0
        var minute: Int64 = 0
        var second: Int64 = 0

        /// Nil where a digit is missing, or where a byte differs from the pattern's.
        ///
        /// The bytes and the pattern must have the same length.
        init?(_ bytes: UnsafeBufferPointer<UInt8>, as pattern: StaticString) {
            for at in bytes.indices {
                let mark = pattern.utf8Start[at]
                let digit = Int64(bytes[at]) - Int64(UInt8(ascii: "0"))
                switch mark {
                case UInt8(ascii: "N"):
                    if month == 0 { month = at }
                    continue
                case UInt8(ascii: "d") where bytes[at] == UInt8(ascii: " "): continue
                case UInt8(ascii: "d"), UInt8(ascii: "D"): day = day * 10 + digit
                case UInt8(ascii: "Y"): year = year * 10 + digit
                case UInt8(ascii: "h"): hour = hour * 10 + digit
                case UInt8(ascii: "m"): minute = minute * 10 + digit
                case UInt8(ascii: "s"): second = second * 10 + digit
                default:
                    if bytes[at] != mark { return nil }
                    continue
                }
                guard (0...9).contains(digit) else { return nil }
            }
        }
    }

    /// The names of the months, three letters each.
    private static let months: StaticString = "JanFebMarAprMayJunJulAugSepOctNovDec"
    private static let weekdays: [StaticString] = [
        "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    ]

    private static func isDayName(_ name: UnsafeBufferPointer<UInt8>, isShort: Bool) -> Bool {
        for day in weekdays where name.count == (isShort ? 3 : day.utf8CodeUnitCount) {
            if isEqual(name, 0, day.utf8Start, count: name.count) { return true }
        }
        return false
    }

    /// The number of the month, 1…12, whose name begins at a position.
    private static func month(in bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> Int64? {
        for at in 0..<12 where isEqual(bytes, start, months.utf8Start + 3 * at, count: 3) {
            return Int64(at + 1)
        }
        return nil
    }

    private static func isEqual(
        _ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ text: UnsafePointer<UInt8>, count: Int
    ) -> Bool {
        for at in 0..<count where bytes[start + at] != text[at] { return false }
        return true
    }
}

extension HTTPDate: CustomStringConvertible {
    /// The date in the form that is sent, e.g. `Sun, 06 Nov 1994 08:49:37 GMT` (IMF-fixdate).
    public var description: String {
        let civil = CivilTime(Instant(seconds: seconds))
        let weekday = HTTPDate.weekdays[civil.weekday].description.prefix(3)
        let month = HTTPDate.months.description.dropFirst(3 * Int(civil.month - 1)).prefix(3)
        let (hour, minute, second) = civil.time
        let time = [hour, minute, second].map { padded($0, 2) }.joined(separator: ":")
        return "\(weekday), \(padded(civil.day, 2)) \(month) \(padded(civil.year, 4)) \(time) GMT"
    }
}
