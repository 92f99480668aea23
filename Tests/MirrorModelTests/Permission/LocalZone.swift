@testable import MirrorModel

/// Instants and zones that the tests of hours and budgets share.
enum LocalZone {
    /// An hour ahead of UTC, two hours from 29 March 2026 01:00 to 25 October 2026 01:00 UTC.
    static let central = LocalOffset { instant in
        let summer = at("2026-03-29T01:00:00Z")..<at("2026-10-25T01:00:00Z")
        return summer.contains(instant) ? 7200 : 3600
    }

    /// An instant by its text in RFC 3339, in UTC; midnight of 1 January 1970 where that is none.
    static func at(_ text: String) -> Instant {
        let fields = text.split { "-T:Z".contains($0) }.compactMap { Int64($0) }
        guard fields.count == 6,
            let civil = CivilTime(
                year: fields[0], month: fields[1], day: fields[2],
                secondOfDay: fields[3] * 3600 + fields[4] * 60 + fields[5])
        else { return Instant(seconds: 0) }
        return Instant(seconds: civil.seconds)
    }
}
