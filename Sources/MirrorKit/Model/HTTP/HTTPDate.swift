/// A date as HTTP writes it, in whole seconds (RFC 9110 §5.6.7).
package struct HTTPDate: Sendable, Hashable, Comparable {
    /// Seconds since 1970-01-01T00:00:00Z.
    let seconds: Int64

    /// Takes seconds since the Unix epoch.
    init(seconds: Int64) { self.seconds = seconds }

    /// Whether the left date is earlier.
    package static func < (left: HTTPDate, right: HTTPDate) -> Bool { left.seconds < right.seconds }

    /// Reads one of the three date formats of HTTP. Returns nil for any other text.
    ///
    /// A year of two digits is 1970…2069.
    init?(_ text: String) {
        var text = text
        guard let date = text.withUTF8({ HTTPDate($0) }) else { return nil }
        self = date
    }

    /// Reads the bytes of a field in the same formats. Returns nil for any other bytes.
    init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        var end = 0
        while end < bytes.count, bytes[end] != UInt8(ascii: ","), bytes[end] != UInt8(ascii: " ") {
            end += 1
        }
        let name = UnsafeBufferPointer(rebasing: bytes[..<end])
        let rest = UnsafeBufferPointer(rebasing: bytes[end...])
        let form = HTTPDate.forms.first { $0.pattern.utf8CodeUnitCount == rest.count }
        guard let form, HTTPDate.isDayName(name, isShort: form.hasShortName) else { return nil }
        var (day, year, hour, minute, second) = (Int64(0), Int64(0), Int64(0), Int64(0), Int64(0))
        var monthStart = 0
        for at in rest.indices {
            let mark = form.pattern.utf8Start[at]
            let digit = Int64(rest[at]) - Int64(UInt8(ascii: "0"))
            switch mark {
            case UInt8(ascii: "N"):
                if monthStart == 0 { monthStart = at }
                continue
            case UInt8(ascii: "d") where rest[at] == UInt8(ascii: " "): continue
            case UInt8(ascii: "d"), UInt8(ascii: "D"): day = day * 10 + digit
            case UInt8(ascii: "Y"): year = year * 10 + digit
            case UInt8(ascii: "h"): hour = hour * 10 + digit
            case UInt8(ascii: "m"): minute = minute * 10 + digit
            case UInt8(ascii: "s"): second = second * 10 + digit
            default:
                if rest[at] != mark { return nil }
                continue
            }
            guard (0...9).contains(digit) else { return nil }
        }
        if form.hasShortYear { year += year < 70 ? 2000 : 1900 }
        // A second of 60 is a leap second. Unix time does not count it, so it becomes 59.
        guard hour < 24, minute < 60, second <= 60,
            let month = HTTPDate.month(in: rest, at: monthStart),
            let time = CivilTime(
                year: year, month: month, day: day,
                secondOfDay: hour * 3600 + minute * 60 + min(second, 59))
        else { return nil }
        seconds = time.seconds
    }

    /// The three formats, as patterns of the text after the name of the day. Their lengths differ.
    ///
    /// D, Y, h, m and s stand for a digit of the day, year, hour, minute and second. d is a digit
    /// or a space, and N a letter of the month's name.
    private static let forms: [(pattern: StaticString, hasShortName: Bool, hasShortYear: Bool)] = [
        (", DD NNN YYYY hh:mm:ss GMT", hasShortName: true, hasShortYear: false),
        (", DD-NNN-YY hh:mm:ss GMT", hasShortName: false, hasShortYear: true),
        (" NNN dD hh:mm:ss YYYY", hasShortName: true, hasShortYear: false),
    ]

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
    package var description: String {
        let civil = CivilTime(Instant(seconds: seconds))
        let weekday = HTTPDate.weekdays[civil.weekday].description.prefix(3)
        let month = HTTPDate.months.description.dropFirst(3 * Int(civil.month - 1)).prefix(3)
        let (hour, minute, second) = civil.time
        let time = [hour, minute, second].map { padded($0, 2) }.joined(separator: ":")
        return "\(weekday), \(padded(civil.day, 2)) \(month) \(padded(civil.year, 4)) \(time) GMT"
    }
}
