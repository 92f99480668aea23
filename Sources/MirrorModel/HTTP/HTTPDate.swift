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
    public init?(_ text: String) { self.init(Array(text.utf8)) }

    /// Reads the bytes of a field in the same way.
    init?(_ bytes: [UInt8]) {
        guard let seconds = bytes.withUnsafeBufferPointer(HTTPDate.seconds) else { return nil }
        self.seconds = seconds
    }

    private static func seconds(of bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        let isEnd: (UInt8) -> Bool = { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: " ") }
        let end = bytes.firstIndex(where: isEnd) ?? bytes.count
        let name = UnsafeBufferPointer(rebasing: bytes[..<end])
        let rest = UnsafeBufferPointer(rebasing: bytes[end...])
        guard let form = forms.first(where: { $0.pattern.utf8CodeUnitCount == rest.count }),
            isDayName(name, isShort: form.hasShortName),
            let fields = Fields(rest, as: form.pattern), fields.hour < 24, fields.minute < 60,
            // 60 is a leap second, which Unix time does not count.
            fields.second <= 60,
            let month = months.firstIndex(where: { begins(rest, fields.month, with: $0, count: 3) })
        else { return nil }
        var year = fields.year
        if form.hasShortYear { year += year < 70 ? 2000 : 1900 }
        guard (1...length(ofMonth: month + 1, year: year)).contains(fields.day) else { return nil }
        return days(year: year, month: Int64(month + 1), day: fields.day) * 86_400
            + fields.hour * 3600 + fields.minute * 60 + min(fields.second, 59)
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

    private static let months: [StaticString] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let weekdays: [StaticString] = [
        "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    ]

    private static func isDayName(_ name: UnsafeBufferPointer<UInt8>, isShort: Bool) -> Bool {
        weekdays.contains { day in
            name.count == (isShort ? 3 : day.utf8CodeUnitCount)
                && begins(name, 0, with: day, count: name.count)
        }
    }

    private static func begins(
        _ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, with text: StaticString, count: Int
    ) -> Bool {
        (0..<count).allSatisfy { bytes[start + $0] == text.utf8Start[$0] }
    }

    private static func length(ofMonth month: Int, year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01 in the proleptic Gregorian calendar.
    ///
    /// Years begin in March here, so that the leap day comes last.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}

extension HTTPDate: CustomStringConvertible {
    /// The date in the form that is sent, e.g. `Sun, 06 Nov 1994 08:49:37 GMT` (IMF-fixdate).
    public var description: String {
        let day = Int64((Double(seconds) / 86_400).rounded(.down))
        let clock = seconds - day * 86_400
        let civil = HTTPDate.civil(day)
        // 1970-01-01 was a Thursday.
        let weekday = HTTPDate.weekdays[Int(((day + 3) % 7 + 7) % 7)].description.prefix(3)
        let month = HTTPDate.months[Int(civil.month) - 1]
        let year = HTTPDate.padded(civil.year, to: 4)
        let time = [clock / 3600, clock / 60 % 60, clock % 60].map { HTTPDate.padded($0, to: 2) }
        return "\(weekday), \(HTTPDate.padded(civil.day, to: 2)) \(month) \(year) "
            + time.joined(separator: ":") + " GMT"
    }

    private static func padded(_ number: Int64, to width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }

    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }
}
