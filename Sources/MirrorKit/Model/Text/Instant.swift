/// A point of wall-clock time, in milliseconds since 1970-01-01T00:00:00Z.
///
/// Decisions get the time as an instant, because this module reads no clock.
public struct Instant: Sendable, Hashable, Comparable {
    /// Milliseconds since the Unix epoch; negative before it.
    public let milliseconds: Int64

    /// Makes an instant of milliseconds since the Unix epoch.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Makes an instant of seconds since the Unix epoch, clamped to the range of milliseconds.
    public init(seconds: Int64) {
        let (value, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        milliseconds = overflow ? (seconds < 0 ? .min : .max) : value
    }

    /// Whole seconds since the Unix epoch, rounded down.
    public var seconds: Int64 {
        milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0)
    }

    /// Whether the left instant is earlier.
    public static func < (left: Instant, right: Instant) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// Returns the instant `seconds` later, clamped to the range of an instant.
    public func advanced(bySeconds seconds: Int64) -> Instant {
        let (product, tooFar) = seconds.multipliedReportingOverflow(by: 1000)
        let (sum, overflow) = milliseconds.addingReportingOverflow(product)
        if tooFar || overflow { return Instant(milliseconds: seconds < 0 ? .min : .max) }
        return Instant(milliseconds: sum)
    }

    /// Returns the seconds from another instant to this one, rounded toward zero.
    ///
    /// The number is negative if this instant is earlier.
    public func seconds(since other: Instant) -> Int64 {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(other.milliseconds)
        if overflow { return milliseconds > other.milliseconds ? .max / 1000 : .min / 1000 }
        return difference / 1000
    }
}

/// A date and time of day in UTC, in the proleptic Gregorian calendar.
///
/// The conversion is that of "chrono-Compatible Low-Level Date Algorithms" (H. Hinnant, 2021): it
/// counts days in eras of 400 years that begin on 1 March.
struct CivilTime: Sendable, Hashable {
    /// The year; 0 is 1 BC.
    var year: Int64
    /// The month, 1 … 12.
    var month: Int64
    /// The day of the month, 1 … 31.
    var day: Int64
    /// Seconds since midnight, 0 … 86399.
    var secondOfDay: Int64

    /// Makes the date and time of an instant, in whole seconds.
    init(_ instant: Instant) {
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

    /// Makes a date and time from its fields. Returns nil if the calendar has no such date or time.
    init?(year: Int64, month: Int64, day: Int64, secondOfDay: Int64 = 0) {
        guard (1...12).contains(month),
            (1...CivilTime.length(ofMonth: month, year: year)).contains(day),
            (0..<86400).contains(secondOfDay)
        else { return nil }
        (self.year, self.month, self.day, self.secondOfDay) = (year, month, day, secondOfDay)
    }

    /// Seconds since 1970-01-01T00:00:00Z.
    var seconds: Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return (era * 146_097 + dayOfEra - 719_468) * 86400 + secondOfDay
    }

    /// The date as `2026-11-20`.
    var date: String { "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))" }

    /// The day of the week; 0 is Monday.
    var weekday: Int {
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
    var time: (hour: Int64, minute: Int64, second: Int64) {
        (secondOfDay / 3600, secondOfDay / 60 % 60, secondOfDay % 60)
    }
}

extension Instant {
    /// The instant as `2026-11-21T03:56:00.123Z` (RFC 3339, UTC, milliseconds).
    ///
    /// Instants outside the years 0000 … 9999 are clamped, because a year has four digits.
    public var rfc3339: String {
        String(unsafeUninitializedCapacity: Instant.rfc3339Length) { text in
            putRFC3339(into: text)
            return Instant.rfc3339Length
        }
    }

    /// The length of `rfc3339` in bytes.
    static let rfc3339Length = 24

    /// Writes `rfc3339` into memory that has room for `rfc3339Length` bytes.
    func putRFC3339(into text: UnsafeMutableBufferPointer<UInt8>) {
        let instant = clampedToFourDigits
        let civil = CivilTime(instant)
        let fraction = instant.milliseconds - instant.seconds * 1000
        // Documents have a time for each of up to a million files, so no field becomes a string.
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

    /// Reads an instant as `rfc3339` writes it, with or without a fraction. Returns nil otherwise.
    init?(rfc3339 text: String) {
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

    /// The instant as `20261121T035600Z` (ISO 8601, basic format), for file names.
    ///
    /// Instants outside the years 0000 … 9999 are clamped.
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

/// Writes instants for people: as the local time, and as the distance from now.
///
/// An instant of today has only its time of day; others also have their date. Text for scripts is
/// in UTC and does not use this type.
package struct LocalClock: Sendable {
    /// The instant that counts as now.
    package let now: Instant
    private let offset: LocalOffset

    /// Takes the present instant, and how far local time is ahead of UTC.
    init(now: Instant, offset: LocalOffset) {
        self.now = now
        self.offset = offset
    }

    /// Returns `12:03, 2 h ago` for a past instant, `12:03, in 15 min` for a future one.
    package func description(of instant: Instant) -> String {
        let seconds = now.seconds(since: instant)
        let distance = DurationText(seconds: abs(seconds)).description
        return "\(time(of: instant)), "
            + (instant > now ? "in \(distance)" : "\(distance) ago")
    }

    /// Returns `12:03` for an instant of today, `2026-11-20 12:03` for others.
    package func time(of instant: Instant) -> String {
        let (then, today) = (offset.civil(instant), offset.civil(now))
        let time = "\(padded(then.time.hour, 2)):\(padded(then.time.minute, 2))"
        let isToday = (then.year, then.month, then.day) == (today.year, today.month, today.day)
        return isToday ? time : "\(then.date) \(time)"
    }

    /// Returns `2026-11-20 12:03:27` for any instant, for text that may be read on another day.
    package func dateAndTime(of instant: Instant) -> String {
        let then = offset.civil(instant)
        let fields = [then.time.hour, then.time.minute, then.time.second]
        return "\(then.date) \(fields.map { padded($0, 2) }.joined(separator: ":"))"
    }

    /// The zone of local time now: `UTC`, `UTC+05:30`, `UTC-03:00`.
    package var zone: String {
        let minutes = (offset.civil(now).seconds - now.seconds) / 60
        if minutes == 0 { return "UTC" }
        let sign = minutes < 0 ? "-" : "+"
        return "UTC\(sign)\(padded(abs(minutes) / 60, 2)):\(padded(abs(minutes) % 60, 2))"
    }
}

extension Reason {
    /// Returns the sentence that gives the reason, with times for people.
    package func because(on clock: LocalClock) -> String {
        switch self {
        case .fresh(let until): "fresh until \(clock.description(of: until))"
        case .deferred(let deferral): deferral.because(clock.description(of:))
        default: because
        }
    }
}

extension SetFailure {
    /// Returns the sentence that says why the set failed, with times for people.
    package func because(on clock: LocalClock) -> String { because(clock.description(of:)) }
}

/// By how many seconds local time is ahead of UTC, at any instant.
struct LocalOffset: Sendable {
    private let seconds: @Sendable (Instant) -> Int64

    /// Takes a function that returns the seconds by which local time is ahead of UTC at an instant.
    init(_ seconds: @escaping @Sendable (Instant) -> Int64) { self.seconds = seconds }

    /// The offset of a zone whose local time is UTC.
    static let utc = LocalOffset { _ in 0 }

    /// Returns the local date and time of an instant.
    func civil(_ instant: Instant) -> CivilTime {
        CivilTime(instant.advanced(bySeconds: seconds(instant)))
    }

    /// Returns the minute of the local day, 0 … 1439, at an instant.
    func minute(of instant: Instant) -> Int { Int(civil(instant).secondOfDay / 60) }

    /// Returns the instant of a local date and time.
    ///
    /// If a change of the clocks skips the time, the result is an hour later.
    func instant(of civil: CivilTime) -> Instant {
        let local = Instant(seconds: civil.seconds)
        // The offset depends on the instant that is sought, so a first guess finds the offset.
        let near = local.advanced(bySeconds: -seconds(local))
        return local.advanced(bySeconds: -seconds(near))
    }

    /// Returns the first instant after another at which the local day is `minute` minutes old.
    ///
    /// - Parameter minute: minutes since midnight, 0 … 1440.
    func next(minute: Int, after instant: Instant) -> Instant {
        var day = civil(instant)
        day.secondOfDay = 0
        let midnight = day.seconds
        for days in Int64(0)...2 {
            let seconds = midnight + days * 86400 + Int64(minute) * 60
            let candidate = self.instant(of: CivilTime(Instant(seconds: seconds)))
            if candidate > instant { return candidate }
        }
        return instant.advanced(bySeconds: 86400)
    }
}

/// A length of time as people write it: `90s`, `15m`, `6h`, `1d`, `2w`.
package struct DurationText: Sendable, Hashable, CustomStringConvertible {
    /// The longest time in seconds: 100,000 years, so that sums in milliseconds fit into an Int64.
    static let longest: Int64 = 3_155_760_000_000

    /// The length in seconds.
    package let seconds: Int64

    /// The length as a span of time.
    package var duration: Duration { .seconds(seconds) }

    /// Makes a length of time from its seconds.
    package init(seconds: Int64) { self.seconds = seconds }

    /// Reads a whole number and a unit; `s` may be missing. Returns nil for other text.
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
