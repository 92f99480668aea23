/// The options of a plan.
public struct PlanOptions: Sendable {
    /// Selects only resources with one of these tags, or with targets that one of these patterns
    /// matches, such as `Caches/py/**`. An empty set selects all resources.
    public var only: Set<String> = []
    /// Leaves out resources with one of these tags or patterns.
    public var skip: Set<String> = []
    /// Selects the best file of each Python release. `nil` selects all.
    package var wheels: WheelTarget?
    /// Whether orphans are removed.
    public var prune = false
    /// Whether each manifest is promoted as a set, all or nothing, as if its text said so.
    public var atomic = false
    /// Whether every file without a pin counts as due for a request.
    public var refresh = false
    /// Targets that are fetched as if they had no file.
    public var refetch: Set<Target> = []
    /// Whether a given manifest takes a target over from a manifest outside this run.
    ///
    /// This matters if the two manifests want different bytes. If false, the plan is refused
    /// because of such a target.
    public var takeOver = false
    /// Whether the plan is refused because of tags, patterns and targets that no manifest has.
    public var refusesUnknownNames = false
    /// Whether files are read even if their stamps say that they are unchanged.
    public var verify = false
    /// Selects only these targets, and admits them to Caches before others. An empty set selects
    /// all.
    public var asked: Set<Target> = []
    /// Bytes that mirror's files in Caches may take up. `nil` means no limit.
    public var quota: Int64?
    /// The time after their last use at which files in tmp are removed. `nil` removes none.
    ///
    /// With a limit, a file in tmp that its manifest no longer names is removed at once.
    public var keepTmp: Duration?
    /// The time after their last write at which parts that no manifest wants are removed.
    ///
    /// `nil` removes none.
    public var keepParts: Duration? = .seconds(14 * 86400)

    /// Whether the options select some resources and leave others out.
    var isSelection: Bool { !selection.isAll || !asked.isEmpty }

    /// What narrows the selections of the manifests.
    var selection: Selection { Selection(only: only, skip: skip, wheels: wheels) }

    /// Narrows the selections of the manifests.
    package mutating func narrow(to selection: Selection) {
        (only, skip, wheels) = (selection.only, selection.skip, selection.wheels)
    }

    /// The defaults: due files are requested, changed files are read, orphans are left.
    public init() {}

    /// Checks that all numbers are in their ranges. All calls that take the options do so.
    ///
    /// Throws `MirrorError` with `usage`, which names the property and the range.
    public func validate() throws(MirrorError) {
        try Configuration.check("quota", quota, Configuration.natural)
        try Configuration.check("keepTmp", keepTmp?.wholeSeconds, Configuration.natural)
        try Configuration.check("keepParts", keepParts?.wholeSeconds, Configuration.natural)
    }
}

/// How a plan is executed.
public struct RunOptions: Sendable {
    /// Whether the run makes no requests.
    public var offline = false
    /// Whether the run succeeds even if servers could not confirm good files.
    public var staleOK = false
    /// The greatest age of files that could not be confirmed. `nil` means no limit.
    public var maxStale: Duration?
    /// When transfers may run. Urgent resources ignore this.
    public var permission = TransferPermission()
    /// Targets that this run does not fetch, besides those that the root remembers as paused.
    var paused = PausedTargets()
    /// How many files may be removed.
    public var maxDelete = DeleteLimit.whenOmitted
    /// Whether the run is refused if the disk has no room for all files of the plan.
    public var requireRoom = false
    /// Whether the first failure of a resource that is not optional ends the run.
    public var failFast = false
    /// The time after which the run ends, counted from `began`. `nil` means no limit.
    public var deadline: Duration?
    /// When the work began whose last step is the run. `nil` means: when `execute` was called.
    ///
    /// An earlier step is, for example, the reading of manifests. The deadline and the summary's
    /// seconds count from this instant.
    public var began: ContinuousClock.Instant?
    /// Values for `${NAME}` in headers and bodies.
    public var secrets = Secrets()
    /// Supplies headers, such as a token, for an origin.
    ///
    /// A run calls this closure once for each origin, for all origins at the same time, before the
    /// first request. The headers are sent to that origin only, and replace the manifest's headers
    /// of the same names. If the closure throws, the run ends with `no-credentials`; its error
    /// contains the closure's error.
    ///
    /// After a 401 the run calls the closure again for that origin, at most once a minute. The
    /// closure's error is then part of the resource's error. If the run ends or its deadline
    /// passes, the run cancels the task of the call and does not wait for that task.
    public var credentials: (@Sendable (Origin) async throws -> [HeaderField])?
    /// Whether the run sends events for resources whose files are kept as they are.
    public var reportsKept = true

    /// Whether the same call has just made the plan, so that the plan's look at the files is still
    /// valid.
    package var followsPlanning = false

    /// The defaults: requests are made, stale files fail the run, and time is not limited.
    public init() {}

    /// Checks that all numbers are in their ranges. A run does so before it begins.
    ///
    /// Throws `MirrorError` with `usage`, which names the property and the range.
    public func validate() throws(MirrorError) {
        try Configuration.check("maxStale", maxStale?.wholeSeconds, Configuration.natural)
        try Configuration.check("deadline", deadline?.wholeSeconds, Configuration.natural)
        try permission.validate()
        try maxDelete.validate()
    }
}
