public import MirrorModel

/// What a plan takes into account beside manifests, index, tree and clock.
public struct PlanOptions: Sendable {
    /// Only resources with one of these tags; empty is all of them.
    public var only: Set<String> = []
    /// No resources with one of these tags.
    public var skip: Set<String> = []
    /// Whether orphans are removed.
    public var prunes = false
    /// Whether every unpinned file is treated as due.
    public var everythingIsDue = false
    /// Targets that are treated as not there.
    public var refetched: Set<Target> = []
    /// Whether a target that a manifest outside the run wants otherwise is moved to the one that was
    /// given, instead of the plan being refused.
    public var takesOver = false
    /// Whether tags and targets that no manifest has are refused.
    public var refusesUnknownNames = false
    /// Whether files whose stamps say that they are unchanged are read all the same.
    public var rehashes = false

    /// The defaults: what is due is asked for, what has changed is read, orphans are left.
    public init() {}
}

/// How a plan is executed.
public struct RunOptions: Sendable {
    /// Whether no request is made.
    public var isOffline = false
    /// Whether good files that could not be confirmed leave the run successful.
    public var acceptsStale = false
    /// The greatest age of such files in seconds; nil is no limit.
    public var longestStale: Int64?
    /// How many files may be removed.
    public var deleteLimit = DeleteLimit.whenOmitted
    /// Whether the first failure of a resource that is not optional ends the run.
    public var stopsAtFirstFailure = false
    /// Seconds after which the run ends, counted from `began`; nil is no limit.
    public var deadline: Int64?
    /// When the work began that the run is the last step of, such as reading manifests; nil is when
    /// the run begins. The deadline and the summary's seconds count from there.
    public var began: ContinuousClock.Instant?
    /// Values for `${NAME}` in headers and bodies.
    public var secrets = Secrets()
    /// Supplies headers, such as a token, for an origin: asked once in a run, before the first
    /// request that may go there. They are sent to that origin only, in the place of the manifest's
    /// headers of the same names. What it throws ends the run with `no-credentials`.
    public var credentials: (@Sendable (Origin) async throws -> [HeaderField])?
    /// Whether events are sent for resources that were kept as they are.
    public var reportsKept = true

    /// The defaults.
    public init() {}
}
