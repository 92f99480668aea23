public import MirrorModel

/// The inputs of a plan besides manifests, index, tree and clock.
public struct PlanOptions: Sendable {
    /// Selects only resources with one of these tags; empty selects all of them.
    public var only: Set<String> = []
    /// Leaves out resources with one of these tags.
    public var skip: Set<String> = []
    /// Whether orphans are removed.
    public var prunes = false
    /// Whether every unpinned file is treated as due.
    public var everythingIsDue = false
    /// Targets that are treated as not there.
    public var refetched: Set<Target> = []
    /// Whether the given manifest takes over a target that one outside the run wants differently.
    ///
    /// If false, the plan is refused because of such a target.
    public var takesOver = false
    /// Whether tags and targets that no manifest has are refused.
    public var refusesUnknownNames = false
    /// Whether files are read even if their stamps say that they are unchanged.
    public var rehashes = false
    /// Selects only these targets, and admits them to Caches before all others; empty selects all.
    public var asked: Set<Target> = []
    /// Bytes that mirror's files in Caches may take up; nil is no limit.
    public var quota: Int64?
    /// Seconds after its last use at which a file of tmp goes; nil is never.
    ///
    /// A file of tmp that its manifest no longer names then goes at once.
    public var longestIdleInTmp: Int64?
    /// Seconds for which a part is kept that no manifest wants; nil is forever.
    public var longestUnwantedPart: Int64? = 14 * 86400

    /// The defaults: due files are requested, changed files are read, orphans are left.
    public init() {}
}
