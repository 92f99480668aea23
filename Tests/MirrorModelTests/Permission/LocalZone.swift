@testable import MirrorKit

/// Instants and zones that the tests of hours and budgets share.
enum LocalZone {
    /// An hour ahead of UTC, two hours from 29 March 2026 01:00 to 25 October 2026 01:00 UTC.
    static let central = LocalOffset { instant in
        let summer = at("2026-03-29T01:00:00Z")..<at("2026-10-25T01:00:00Z")
        return summer.contains(instant) ? 7200 : 3600
    }

    /// An instant by its text in RFC 3339, in UTC; midnight of 1 January 1970 where that is none.
    static func at(_ text: String) -> Instant { Instant(rfc3339: text) ?? Instant(seconds: 0) }
}
