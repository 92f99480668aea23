public import MirrorModel

/// The options of a plan.
public struct PlanOptions: Sendable {
    /// Selects only resources with one of these tags; empty selects all of them.
    public var only: Set<String> = []
    /// Leaves out resources with one of these tags.
    public var skip: Set<String> = []
    /// Whether orphans are removed.
    public var prunes = false
    /// Whether each manifest is all or nothing, as if its text said so.
    public var isAtomic = false
    /// Whether every unpinned file is treated as due.
    public var everythingIsDue = false
    /// Targets that are treated as not there.
    public var refetched: Set<Target> = []
    /// Whether the given manifest takes a target from a manifest outside this run that wants other
    /// bytes.
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
    /// Files in tmp that were unused for so many seconds are removed; nil removes none.
    ///
    /// A file of tmp that its manifest no longer names then goes at once.
    public var longestIdleInTmp: Int64?
    /// Parts that no manifest wants are removed so many seconds after their last write; nil removes
    /// none.
    public var longestUnwantedPart: Int64? = 14 * 86400

    /// Whether some resources are selected, and others not.
    var isSelection: Bool { !only.isEmpty || !skip.isEmpty || !asked.isEmpty }

    /// Whether a resource with these tags is selected.
    ///
    /// `dev+optional` is a tag of two words: a file that is needed for either of them. It is left out
    /// only if both are, and selected by any of them.
    func selects(tags: [String]) -> Bool {
        let isSkipped = tags.contains { tag in
            skip.contains(tag) || PlanOptions.words(of: tag).allSatisfy { skip.contains($0) }
        }
        if isSkipped { return false }
        return only.isEmpty
            || tags.contains { tag in
                only.contains(tag) || PlanOptions.words(of: tag).contains { only.contains($0) }
            }
    }

    /// The words of a tag that plus signs divide; the tag itself where one would be empty, as in `c++`.
    static func words(of tag: String) -> [String] {
        guard tag.utf8.contains(UInt8(ascii: "+")) else { return [tag] }
        let words = tag.parts(at: "+", keepingEmpty: true).map(String.init)
        return words.contains("") ? [tag] : words
    }

    /// The defaults: due files are requested, changed files are read, orphans are left.
    public init() {}

    /// Refuses a number that is out of its range; whatever takes the options does so.
    ///
    /// Throws `MirrorError` with `usage`, which names the property and the range.
    public func validate() throws(MirrorError) {
        try Configuration.check("quota", quota, Configuration.natural)
        try Configuration.check("longestIdleInTmp", longestIdleInTmp, Configuration.natural)
        try Configuration.check("longestUnwantedPart", longestUnwantedPart, Configuration.natural)
    }
}

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
        try Configuration.check("longestStale", longestStale, Configuration.natural)
        try Configuration.check("deadline", deadline, Configuration.natural)
        try permission.validate()
        try deleteLimit.validate()
    }
}
