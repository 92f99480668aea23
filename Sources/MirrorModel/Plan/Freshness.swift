/// Whether the source of an existing file is asked again.
public enum Freshness: Sendable, Hashable {
    /// Not yet: until then, or for ever.
    case fresh(until: Instant?)
    /// Now, and why.
    case due(DueCause)

    /// What makes an unpinned file due; a pinned one is never asked about.
    public static func judge(
        _ refresh: Refresh, record: IndexRecord, now: Instant, everythingIsDue: Bool = false
    ) -> Freshness {
        if everythingIsDue { return .due(.asked) }
        return judge(
            refresh, confirmedAt: record.confirmedAt, freshUntil: record.freshUntil, now: now)
    }

    /// What makes a file due that was confirmed at an instant, and whose answer was to be fresh until
    /// another one.
    package static func judge(
        _ refresh: Refresh, confirmedAt: Instant, freshUntil: Instant?, now: Instant
    ) -> Freshness {
        switch refresh {
        case .always: return .due(.always)
        case .never: return .fresh(until: nil)
        case .after, .http: break
        }
        // A confirmation from the future says that a clock was wrong: one request tells the truth.
        guard confirmedAt <= now else { return .due(.clockWentBack) }
        if case .after(let seconds) = refresh {
            let end = confirmedAt.advanced(bySeconds: seconds)
            return end > now ? .fresh(until: end) : .due(.age(since: end, lifetime: seconds))
        }
        guard let end = freshUntil else { return .due(.noLifetime) }
        let lifetime = end.seconds(since: confirmedAt)
        return end > now ? .fresh(until: end) : .due(.expired(since: end, lifetime: lifetime))
    }
}

extension IndexRecord {
    /// Whether the last confirmation is at most this many seconds old.
    ///
    /// A confirmation from the future shows a wrong clock and no age: it could count as
    /// young for as many years as the clock was off.
    public func wasConfirmed(within seconds: Int64, of now: Instant) -> Bool {
        confirmedAt <= now && now.seconds(since: confirmedAt) <= seconds
    }
}

/// Why a file is due.
public enum DueCause: Sendable, Hashable {
    /// `refresh` is `always`.
    case always
    /// The caller asked for everything to be treated as due.
    case asked
    /// The manifest's `refresh`, in seconds, ended at an instant.
    case age(since: Instant, lifetime: Int64)
    /// `refresh` is `http`, and the lifetime that the server gave, in seconds, ended at an instant.
    case expired(since: Instant, lifetime: Int64)
    /// `refresh` is `http`, and the server gave no lifetime.
    case noLifetime
    /// The last confirmation lies in the future.
    case clockWentBack
}
