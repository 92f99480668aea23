/// Why nothing may be fetched now.
public enum Deferral: Sendable, Hashable {
    /// It is outside the permitted hours, which begin again at this instant.
    case outsideWindow(opens: Instant)
    /// The network is metered.
    case meteredNetwork
    /// The budget is spent; the next one begins at this instant.
    case budgetSpent(renews: Instant)
    /// Somebody paused it until further notice.
    case paused

    /// When it ends, where the clock alone ends it.
    public var end: Instant? {
        switch self {
        case .outsideWindow(let opens): opens
        case .meteredNetwork, .paused: nil
        case .budgetSpent(let renews): renews
        }
    }
}

extension Deferral {
    /// A sentence that says why; the argument words an instant.
    package func because(_ words: (Instant) -> String) -> String {
        switch self {
        case .outsideWindow(let opens): "outside the permitted hours until \(words(opens))"
        case .meteredNetwork: "the network is metered"
        case .paused: "somebody paused it"
        case .budgetSpent(let renews): "the budget is spent until \(words(renews))"
        }
    }
}
