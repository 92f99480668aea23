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
        let words = text.utf8.split(separator: UInt8(ascii: " "))
        let date: (day: Word, month: Word, year: Word)
        let time: Word
        switch words.count {
        case 6
        where words[5].elementsEqual("GMT".utf8)
            && HTTPDate.isDayName(words[0], suffix: ",", short: true):
            date = (words[1], words[2], words[3])
            time = words[4]
            guard date.day.count == 2, date.year.count == 4 else { return nil }
        case 4
        where words[3].elementsEqual("GMT".utf8)
            && HTTPDate.isDayName(words[0], suffix: ",", short: false):
            let parts = words[1].split(
                separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0].count == 2, parts[2].count == 2 else { return nil }
            date = (parts[0], parts[1], parts[2])
            time = words[2]
        case 5 where HTTPDate.isDayName(words[0], suffix: "", short: true):
            date = (words[2], words[1], words[4])
            time = words[3]
            guard date.year.count == 4 else { return nil }
        default: return nil
        }
        guard let month = HTTPDate.months.firstIndex(where: { $0.utf8.elementsEqual(date.month) }),
            let day = DecimalDigits.value(of: date.day),
            var year = DecimalDigits.value(of: date.year),
            let clock = HTTPDate.secondOfDay(time)
        else { return nil }
        if date.year.count == 2 { year += year < 70 ? 2000 : 1900 }
        guard (1...HTTPDate.length(ofMonth: month + 1, year: year)).contains(day) else {
            return nil
        }
        seconds = HTTPDate.days(year: year, month: Int64(month + 1), day: day) * 86_400 + clock
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let weekdays = [
        "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    ]

    /// Bytes, and not characters: every answer has two or three dates.
    private typealias Word = Substring.UTF8View

    private static func isDayName(_ word: Word, suffix: String, short: Bool) -> Bool {
        let count = word.count - suffix.utf8.count
        return word.dropFirst(max(0, count)).elementsEqual(suffix.utf8)
            && weekdays.contains {
                $0.utf8.prefix(short ? 3 : .max).elementsEqual(word.prefix(max(0, count)))
            }
    }

    private static func secondOfDay(_ time: Word) -> Int64? {
        let parts = time.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ $0.count == 2 }),
            let hour = DecimalDigits.value(of: parts[0]), hour < 24,
            let minute = DecimalDigits.value(of: parts[1]), minute < 60,
            // 60 is a leap second, which the count of seconds does not know.
            let second = DecimalDigits.value(of: parts[2]), second <= 60
        else { return nil }
        return hour * 3600 + minute * 60 + min(second, 59)
    }

    private static func length(ofMonth month: Int, year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01 in the proleptic Gregorian calendar, counted in years that begin in
    /// March so that the leap day comes last.
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
        let weekday = HTTPDate.weekdays[Int(((day + 3) % 7 + 7) % 7)].prefix(3)
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
