/// The targets that are paused until further notice, or all of them.
public struct PausedTargets: Sendable, Hashable {
    /// Whether every target is paused.
    public var all = false
    /// Targets that are paused by themselves.
    public var targets: Set<Target> = []

    /// Nothing is paused.
    public init() {}

    /// Whether nothing is paused.
    public var isEmpty: Bool { !all && targets.isEmpty }

    /// Whether a target is paused.
    public func contains(_ target: Target) -> Bool { all || targets.contains(target) }

    /// Adds what another value pauses.
    package mutating func formUnion(_ other: PausedTargets) {
        all = all || other.all
        targets.formUnion(other.targets)
    }

    /// Pauses a target, or all of them.
    package mutating func pause(_ target: Target?) {
        if let target { targets.insert(target) } else { all = true }
    }

    /// Ends the pause of a target, or of all of them.
    ///
    /// Returns false where it was not paused. If all are paused, one alone cannot be resumed.
    package mutating func resume(_ target: Target?) -> Bool {
        if let target { return targets.remove(target) != nil }
        defer { self = PausedTargets() }
        return !isEmpty
    }
}
