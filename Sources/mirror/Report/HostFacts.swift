import MirrorKit

/// Facts about one host: the files that came from the host, and how the host answered.
struct HostFacts: Sendable, Hashable {
    /// The host's scheme, name and port, as sources name it.
    var host: String
    /// The number of files of the tree that came from the host.
    var files = 0
    /// The bytes of the files that came from the host.
    var bytes: Int64 = 0
    /// The files that came from the host, counted by the strength of their validators.
    var validators: [ValidatorStrength: Int] = [:]
    /// The number of the host's transfers in the logs of runs.
    var transfers = 0
    /// The number of transfers that continued a part.
    var resumed = 0
    /// The number of transfers that failed.
    var failed = 0
    /// The number of requests that failed temporarily.
    var retries = 0
    /// The number of body bytes that arrived.
    var received: Int64 = 0
    /// Transfers, counted by what the host did with ranges.
    var ranges: [RangeSupport: Int] = [:]
    /// Transfers, counted by the version of HTTP.
    var versions: [HTTPVersion: Int] = [:]

    /// Creates an entry for a host of which nothing is known.
    init(host: String) { self.host = host }

    /// Whether the host sends ranges. What it did counts more than what it says.
    var rangeSupport: RangeSupport {
        [RangeSupport.honoured, .refused, .offered].first { ranges[$0, default: 0] > 0 } ?? .unknown
    }

    /// Whether the host sent ranges for some files, and the whole of other files instead.
    var isDivided: Bool {
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

/// Facts about the hosts that files came from or that runs asked, for at most `mostHosts` hosts.
struct HostBook: Sendable, Hashable {
    /// The greatest number of hosts with facts of their own.
    static let mostHosts = 1000

    private var facts: [String: HostFacts] = [:]
    /// The number of files and decisions of all hosts beyond `mostHosts`.
    private(set) var beyond = 0

    /// Creates a book without hosts.
    init() {}

    /// Adds a file of the tree to the facts of its host.
    mutating func add(_ file: StoredFile) {
        guard file.size != nil, let source = file.source else { return }
        change(SourceKey.host(of: source)) { $0.add(file) }
    }

    /// Adds a run's decision to the facts of its host.
    mutating func add(_ decision: PastDecision) {
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
    var hosts: [HostFacts] {
        facts.values.sorted { one, other in
            let (left, right) = (
                one.bytes.addingSaturated(one.received), other.bytes.addingSaturated(other.received)
            )
            return left == right ? one.host < other.host : left > right
        }
    }
}

extension SourceKey {
    /// Returns scheme, name and port of a source as a log names it, without user name and path.
    static func host(of source: String) -> String {
        guard let scheme = source.firstRange(of: "://") else { return source }
        let authority = source[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        return String(source[..<scheme.upperBound] + host)
    }
}

/// Failures grouped by cause. Failures of one kind at one host have one cause.
struct FailureCauses: Sendable, Hashable {
    /// What the failures of one group have in common.
    struct Cause: Sendable, Hashable {
        /// The kind of failure.
        let code: FailureCode
        /// The status that the server answered with. `nil` means that there was no response.
        let status: Int?
        /// The host, without its scheme. Empty if the failures concern no host.
        let host: String
        /// Whether the run still counts as successful, because the resources are optional.
        let isOptional: Bool
    }

    /// The failures of one cause.
    struct Group: Sendable, Hashable {
        /// The cause.
        let cause: Cause
        /// The first failure's target.
        let target: Target
        /// The first failure.
        let error: MirrorError
        /// The number of failures in the group.
        var count = 0
        /// The number of files that failed. A file's failures come one after another.
        var files = 0
        /// The targets of the first files, in the order in which they failed.
        var targets: [Target] = []
        /// The number of files whose targets are not in `targets`.
        var more: Int { files - targets.count }
        /// The file that failed last.
        fileprivate var last: Target?
    }

    /// The groups, in the order of their first failures.
    private(set) var groups: [Group] = []
    private var positions: [Cause: Int] = [:]
    private let mostListed: Int

    /// Creates a value without failures, which lists at most `mostListed` targets of each cause.
    init(listing mostListed: Int = 10) { self.mostListed = mostListed }

    /// Adds a failure, and returns its cause.
    @discardableResult
    mutating func add(_ error: MirrorError, of target: Target, isOptional: Bool) -> Cause {
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
        guard groups[position].last != target else { return cause }
        groups[position].last = target
        groups[position].files += 1
        if groups[position].targets.count < mostListed { groups[position].targets.append(target) }
        return cause
    }
}
