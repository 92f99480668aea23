/// What is known of one host: the files that came from it, and what it honours.
public struct HostFacts: Sendable, Hashable {
    /// Scheme, name and port, as sources name it.
    public var host: String
    /// Files of the tree that came from it.
    public var files = 0
    /// Their bytes.
    public var bytes: Int64 = 0
    /// These files by the validator that was sent with them.
    public var validators: [ValidatorStrength: Int] = [:]
    /// Transfers of the runs that were looked at.
    public var transfers = 0
    /// Those that went on from a part.
    public var resumed = 0
    /// Those that failed.
    public var failed = 0
    /// Requests that failed in passing.
    public var retries = 0
    /// Body bytes that arrived.
    public var received: Int64 = 0
    /// Transfers by what the host did with ranges.
    public var ranges: [RangeSupport: Int] = [:]
    /// Transfers by the version of HTTP.
    public var versions: [HTTPVersion: Int] = [:]

    /// Takes a host of which nothing is known.
    public init(host: String) { self.host = host }

    /// Whether it sends ranges: what it did counts more than what it says.
    public var rangeSupport: RangeSupport {
        [RangeSupport.honoured, .refused, .offered].first { ranges[$0, default: 0] > 0 } ?? .unknown
    }

    /// Whether it sent ranges for some files, and the whole of others instead.
    public var isDivided: Bool {
        ranges[.honoured, default: 0] > 0 && ranges[.refused, default: 0] > 0
    }

    mutating func add(_ file: StoredFile) {
        files += 1
        bytes = bytes.addingSaturated(file.size ?? 0)
        if let strength = file.validator { validators[strength, default: 0] += 1 }
    }

    mutating func add(_ decision: PastDecision) {
        retries += decision.failures.count
        received = received.addingSaturated(decision.bytesReceived)
        guard decision.trace != nil || decision.bytesReceived > 0 || decision.error != nil else {
            return
        }
        transfers += 1
        if decision.outcome == .failed { failed += 1 }
        if decision.outcome == .resumed { resumed += 1 }
        guard let trace = decision.trace else { return }
        if let version = trace.version {
            versions[version, default: 0] += 1
            ranges[trace.ranges, default: 0] += 1
        }
    }
}

/// How far the validators of a version identify it.
public enum ValidatorStrength: String, Sendable, Hashable, CaseIterable {
    /// One of them identifies every byte.
    case strong
    /// They tell versions apart, but bytes of two may not be joined.
    case weak
    /// None was sent.
    case none
}

extension Validators {
    /// How far they identify the version.
    public var strength: ValidatorStrength {
        if strong != nil { return .strong }
        return entityTag == nil && lastModified == nil ? .none : .weak
    }
}

/// All hosts that files came from, or that runs asked; a bounded number of them.
public struct HostBook: Sendable, Hashable {
    /// How many hosts are told apart.
    public static let mostHosts = 1000

    private var facts: [String: HostFacts] = [:]
    /// Files and transfers of hosts beyond that number.
    public private(set) var beyond = 0

    /// No host.
    public init() {}

    /// Adds a file of the tree.
    public mutating func add(_ file: StoredFile) {
        guard file.size != nil, let source = file.source else { return }
        change(SourceKey.host(of: source)) { $0.add(file) }
    }

    /// Adds a run's decision.
    public mutating func add(_ decision: PastDecision) {
        guard let source = decision.source else { return }
        change(SourceKey.host(of: source)) { $0.add(decision) }
    }

    private mutating func change(_ host: String, _ body: (inout HostFacts) -> Void) {
        if facts[host] == nil {
            guard facts.count < HostBook.mostHosts else { return beyond += 1 }
            facts[host] = HostFacts(host: host)
        }
        body(&facts[host, default: HostFacts(host: host)])
    }

    /// The hosts, those with the most bytes first.
    public var hosts: [HostFacts] {
        facts.values.sorted { one, other in
            let (left, right) = (
                one.bytes.addingSaturated(one.received), other.bytes.addingSaturated(other.received)
            )
            return left == right ? one.host < other.host : left > right
        }
    }
}

extension SourceKey {
    /// Scheme, name and port of a source as a log names it, without user name and path.
    package static func host(of source: String) -> String {
        guard let scheme = source.firstRange(of: "://") else { return source }
        let authority = source[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        return String(source[..<scheme.upperBound] + host)
    }
}

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

    /// Adds a failure.
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
