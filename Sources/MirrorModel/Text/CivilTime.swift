/// A date and time of day in UTC, in the proleptic Gregorian calendar.
///
/// The conversion is that of "chrono-Compatible Low-Level Date Algorithms" (H. Hinnant, 2021): it
/// counts days in eras of 400 years that begin on 1 March.
package struct CivilTime: Sendable, Hashable {
    /// The year; 0 is 1 BC.
    package var year: Int64
    /// The month, 1 … 12.
    package var month: Int64
    /// The day of the month, 1 … 31.
    package var day: Int64
    /// Seconds since midnight, 0 … 86399.
    package var secondOfDay: Int64

    /// The date and time of an instant, in whole seconds.
    package init(_ instant: Instant) {
        let seconds = instant.seconds
        let days = seconds >= 0 ? seconds / 86400 : (seconds - 86399) / 86400
        secondOfDay = seconds - days * 86400
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let leaps = dayOfEra / 1460 - dayOfEra / 36524 + dayOfEra / 146_096
        let yearOfEra = (dayOfEra - leaps) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// A date and time of day as its fields; nil for a date that the calendar does not have.
    package init?(year: Int64, month: Int64, day: Int64, secondOfDay: Int64 = 0) {
        guard (1...12).contains(month),
            (1...CivilTime.length(ofMonth: month, year: year)).contains(day),
            (0..<86400).contains(secondOfDay)
        else { return nil }
        (self.year, self.month, self.day, self.secondOfDay) = (year, month, day, secondOfDay)
    }

    /// Seconds since 1970-01-01T00:00:00Z.
    package var seconds: Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return (era * 146_097 + dayOfEra - 719_468) * 86400 + secondOfDay
    }

    /// `2026-11-20`.
    var date: String { "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))" }

    /// The day of the week; 0 is Monday.
    package var weekday: Int {
        // 1970-01-01 was a Thursday.
        let days = (seconds - secondOfDay) / 86400
        return Int(((days + 3) % 7 + 7) % 7)
    }

    private static func length(ofMonth month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Hour, minute and second of the day.
    package var time: (hour: Int64, minute: Int64, second: Int64) {
        (secondOfDay / 3600, secondOfDay / 60 % 60, secondOfDay % 60)
    }
}

extension Instant {
    /// The instant as `2026-11-21T03:56:00.123Z` (RFC 3339, UTC, milliseconds).
    ///
    /// It is clamped to the years 0000 … 9999, which four digits can represent.
    public var rfc3339: String {
        String(unsafeUninitializedCapacity: Instant.rfc3339Length) { text in
            putRFC3339(into: text)
            return Instant.rfc3339Length
        }
    }

    /// The length of `rfc3339` in bytes.
    static let rfc3339Length = 24

    /// Puts `rfc3339` into memory that has room for it.
    func putRFC3339(into text: UnsafeMutableBufferPointer<UInt8>) {
        let instant = clampedToFourDigits
        let civil = CivilTime(instant)
        let fraction = instant.milliseconds - instant.seconds * 1000
        // Documents have one for each of maybe a million files, so no string is made for a field.
        var at = 0
        func put(_ number: Int64, _ digits: Int, _ mark: Unicode.Scalar) {
            var rest = number
            for place in stride(from: at + digits - 1, through: at, by: -1) {
                text[place] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            }
            text[at + digits] = UInt8(ascii: mark)
            at += digits + 1
        }
        put(civil.year, 4, "-")
        put(civil.month, 2, "-")
        put(civil.day, 2, "T")
        put(civil.time.hour, 2, ":")
        put(civil.time.minute, 2, ":")
        put(civil.time.second, 2, ".")
        put(fraction, 3, "Z")
    }

    /// Reads an instant as `rfc3339` writes it, with or without a fraction; nil for anything else.
    package init?(rfc3339 text: String) {
        let fields = text.split(omittingEmptySubsequences: false) { "-T:.Z".contains($0) }
        guard text.utf8.count >= 20, text.hasSuffix("Z"), (7...8).contains(fields.count),
            fields.dropLast().allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39) ~= $0 } })
        else { return nil }
        let numbers = fields.prefix(6).compactMap { Int64($0) }
        guard numbers.count == 6, numbers[3] < 24, numbers[4] < 60, numbers[5] < 60,
            let civil = CivilTime(
                year: numbers[0], month: numbers[1], day: numbers[2],
                secondOfDay: numbers[3] * 3600 + numbers[4] * 60 + numbers[5])
        else { return nil }
        let fraction = fields.count == 8 ? Int64((fields[6] + "000").prefix(3)) : 0
        self.init(milliseconds: civil.seconds * 1000 + (fraction ?? 0))
    }

    /// The instant as `20261121T035600Z` (ISO 8601, basic format), for file names; also clamped.
    public var basicFormat: String {
        let civil = CivilTime(clampedToFourDigits)
        return "\(padded(civil.year, 4))\(padded(civil.month, 2))\(padded(civil.day, 2))T"
            + "\(padded(civil.time.hour, 2))\(padded(civil.time.minute, 2))"
            + "\(padded(civil.time.second, 2))Z"
    }

    /// The instant clamped to 0000-01-01T00:00:00.000Z … 9999-12-31T23:59:59.999Z.
    private var clampedToFourDigits: Instant {
        let ends: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999
        return Instant(milliseconds: min(max(milliseconds, ends.lowerBound), ends.upperBound))
    }
}

func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number.magnitude)
    let zeros = String(repeating: "0", count: max(0, width - digits.count))
    return (number < 0 ? "-" : "") + zeros + digits
}
