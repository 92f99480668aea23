/// What keeps a set from being promoted.
public enum SetObstacle: Sendable, Hashable {
    /// A resource of it failed.
    case failed(MirrorError)
    /// A file of it could not be confirmed, and may be of the old version.
    case stale(Target)
    /// A resource of it may not be fetched now.
    case deferred(Target, Deferral)
    /// The run ended before it was complete.
    case ended

    /// The word that scripts may rely on.
    public var code: String {
        switch self {
        case .failed(let error): error.code.rawValue
        case .stale: "stale"
        case .deferred: "deferred"
        case .ended: "ended"
        }
    }

    /// A sentence without its end that says why.
    public var because: String { because { $0.rfc3339 } }

    /// As above; moments are written by a function.
    package func because(_ write: (Instant) -> String) -> String {
        switch self {
        case .failed(let error): error.message
        case .stale(let target): "\(target): no source could be reached"
        case .deferred(let target, let deferral): "\(target): \(deferral.because(write))"
        case .ended: "the run ended before every file of it was there"
        }
    }

    /// Whether it only says that the time has not come.
    var isDeferral: Bool { if case .deferred = self { true } else { false } }

    /// Whether a later run meets it again, so that it is no use to fetch what else the set lacks.
    var isLasting: Bool { if case .failed(let error) = self { !error.isRetryable } else { false } }
}
