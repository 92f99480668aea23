/// Failures by what caused them: what failed of one host in one way is one cause.
public struct FailureCauses: Sendable, Hashable {
    /// What failures have in common.
    public struct Cause: Sendable, Hashable {
        /// The kind of failure.
        public let code: FailureCode
        /// The status that the server answered with.
        public let status: Int?
        /// The host, without its scheme; empty where none is concerned.
        public let host: String
        /// Whether the failures left the run successful.
        public let isOptional: Bool
    }

    /// The failures of one cause.
    public struct Group: Sendable, Hashable {
        /// The cause.
        public let cause: Cause
        /// The first failure's target.
        public let target: Target
        /// The first failure.
        public let error: MirrorError
        /// How many failures there were.
        public var count = 0
        /// The first targets, in the order in which they failed.
        public var targets: [Target] = []
        /// How many are not among `targets`.
        public var more: Int { count - targets.count }
    }

    /// The causes, in the order in which they were met.
    public private(set) var groups: [Group] = []
    private var positions: [Cause: Int] = [:]
    private let mostListed: Int

    /// No failure; lists so many targets of each cause.
    public init(listing mostListed: Int = 10) { self.mostListed = mostListed }

    /// Takes in a failure.
    public mutating func add(_ error: MirrorError, of target: Target, isOptional: Bool) {
        let host = SourceKey.host(of: error.source ?? "")
        let cause = Cause(
            code: error.code, status: error.status,
            host: host.firstRange(of: "://").map { String(host[$0.upperBound...]) } ?? host,
            isOptional: isOptional)
        let position = positions[cause] ?? groups.count
        if position == groups.count {
            positions[cause] = position
            groups.append(Group(cause: cause, target: target, error: error))
        }
        groups[position].count += 1
        if groups[position].targets.count < mostListed { groups[position].targets.append(target) }
    }
}
