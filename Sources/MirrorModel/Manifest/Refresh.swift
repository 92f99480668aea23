/// When a resource that is there is asked for again.
public enum Refresh: Sendable, Hashable {
    /// On every run.
    case always
    /// Never, once it is there.
    case never
    /// As the server's Cache-Control and Expires say (RFC 9111 §4.2).
    case http
    /// After this many seconds since the last confirmation; greater than 0.
    case after(seconds: Int64)

    /// Reads `always`, `never`, `http` or a duration with its unit; nil for anything else.
    public init?(_ text: String) {
        switch text {
        case "always": self = .always
        case "never": self = .never
        case "http": self = .http
        default:
            guard let unit = text.utf8.last, !(0x30...0x39).contains(unit),
                let duration = DurationText(text: text), duration.seconds > 0
            else { return nil }
            self = .after(seconds: duration.seconds)
        }
    }
}

extension Refresh: CustomStringConvertible {
    /// The text as a manifest has it, a duration in its greatest whole unit.
    public var description: String {
        switch self {
        case .always: return "always"
        case .never: return "never"
        case .http: return "http"
        case .after(let seconds):
            let units: [(Int64, String)] = [(604_800, "w"), (86400, "d"), (3600, "h"), (60, "m")]
            let unit = units.first { seconds.isMultiple(of: $0.0) } ?? (1, "s")
            return "\(seconds / unit.0)\(unit.1)"
        }
    }
}
