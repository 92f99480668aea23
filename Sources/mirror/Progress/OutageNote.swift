import MirrorModel

/// The hosts that do not respond, and when they are tried again: retries in, a line out.
///
/// A host is forgotten once a transfer that waited for it makes progress, or ends.
struct OutageNote {
    private struct Wait {
        let host: String
        let until: Instant
    }

    /// The waits, by the paths of the transfers that wait.
    private var waits: [String: Wait] = [:]

    /// Takes in an event of the run.
    mutating func apply(_ event: Event) {
        switch event.body {
        case .retry(let again):
            waits[again.target.path] = nil
            guard again.wait > 0, again.cause.code.isSilence, let source = again.cause.source
            else { break }
            waits[again.target.path] = Wait(
                host: OutageNote.host(of: source),
                until: Instant(milliseconds: event.time.milliseconds + again.wait))
        case .progress(let progress): waits[progress.target.path] = nil
        case .done(let done): waits[done.target.path] = nil
        case .failed(let failed): waits[failed.target.path] = nil
        case .plan, .start, .restart, .removed, .set, .summary: break
        }
    }

    /// The line for a moment; nil while all hosts respond.
    func line(at now: Instant) -> String? {
        guard let next = waits.values.map(\.until).min() else { return nil }
        let hosts = Counted(Set(waits.values.map(\.host)).count, "host")
        // Rounded up: mirror does not try the host before the time is over.
        let seconds = (next.milliseconds - now.milliseconds + 999) / 1000
        let then = seconds > 0 ? " in \(DurationText(seconds: seconds))" : ""
        return "no answer from \(hosts), trying again\(then)"
    }

    /// The host and port of a URL that contains no secrets.
    private static func host(of source: String) -> String {
        let rest = source.firstRange(of: "://").map { source[$0.upperBound...] } ?? source[...]
        return String(rest.prefix { $0 != "/" })
    }
}

extension FailureCode {
    /// Whether nothing came from the host.
    fileprivate var isSilence: Bool {
        switch self {
        case .nameNotResolved, .connectFailed, .connectionLost, .stalled: true
        default: false
        }
    }
}
