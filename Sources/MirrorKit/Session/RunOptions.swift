public import MirrorModel

/// How a plan is executed.
public struct RunOptions: Sendable {
    /// Whether no request is made.
    public var isOffline = false
    /// Whether the run is successful even if good files could not be confirmed.
    public var acceptsStale = false
    /// The greatest age of such files in seconds; nil is no limit.
    public var longestStale: Int64?
    /// When transfers may run; urgent resources ignore this.
    public var permission = TransferPermission()
    /// Targets that this run does not fetch, besides those that the root remembers as paused.
    public var paused = PausedTargets()
    /// How many files may be removed.
    public var deleteLimit = DeleteLimit.whenOmitted
    /// Whether the first failure of a resource that is not optional ends the run.
    public var stopsAtFirstFailure = false
    /// Seconds after which the run ends, counted from `began`; nil is no limit.
    public var deadline: Int64?
    /// When the work began whose last step is the run; nil: when the run was asked for.
    ///
    /// An earlier step is, for example, the reading of manifests. The deadline and the summary's
    /// seconds count from there.
    public var began: ContinuousClock.Instant?
    /// Values for `${NAME}` in headers and bodies.
    public var secrets = Secrets()
    /// Supplies headers, such as a token, for an origin.
    ///
    /// It is called once for each origin in a run, for all of them at the same time, before the first
    /// request. The headers are sent to that origin only, and replace the manifest's headers of the
    /// same names. An error that it throws ends the run with `no-credentials`, and is named in it. After
    /// a 401 it is called again for that origin, at most once a minute; an error then is part of the
    /// resource's. A run that is to end, or whose deadline has come, does not wait for it: its task is
    /// cancelled.
    public var credentials: (@Sendable (Origin) async throws -> [HeaderField])?
    /// Whether events are sent for resources that were kept as they are.
    public var reportsKept = true

    /// Whether the same call has just made the plan, so that its look at the files still holds.
    package var followsPlanning = false

    /// The defaults: requests are made, stale files fail the run, and time is not limited.
    public init() {}

    /// Refuses a number that is out of its range; a run does so before it begins.
    ///
    /// Throws `MirrorError` with `usage`, which names the property and the range.
    public func validate() throws(MirrorError) {
        try NumberRange.check("longestStale", longestStale, NumberRange.natural)
        try NumberRange.check("deadline", deadline, NumberRange.natural)
        try permission.validate()
        try deleteLimit.validate()
    }
}
