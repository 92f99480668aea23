/// What a run asks of the session that executes it, or of a simulation.
///
/// Each call returns at once and does not call the run. Results that take time come later, as
/// inputs.
protocol RunSurroundings: AnyObject {
    /// Sends an event, with the run's totals at its moment.
    func tell(_ event: Event.Body, _ totals: RunTotals)

    /// Whether the index still has the rows that the plan was made from.
    var hasPlannedRows: Bool { get }
    /// Reads the rows of targets. An element is nil if the index has no row of its target.
    func rows(of targets: [Target]) throws(MirrorError) -> [IndexRecord?]

    /// Claims the targets of these steps: all, or none if other runs of the process have some.
    ///
    /// Returns the steps whose targets other runs have; `joined` follows for each of them. Throws
    /// if no wait would help.
    func claim(_ positions: [Int]) throws(MirrorError) -> [Int]
    /// Releases a step's target. Steps of other runs that wait for it get the result.
    func release(_ position: Int, _ end: Result<Event.Done, MirrorError>?)

    /// Begins a download; `transfer` follows with each event.
    ///
    /// - Parameters:
    ///   - step: the step whose target receives the bytes.
    ///   - others: the further steps that get the bytes.
    ///   - storedMediaType: the media type of the version at the target, where known.
    ///   - keepsPart: whether the bytes go into a part, however few, because they must outlive the
    ///     run.
    ///   - isUrgent: whether the transfer goes on when the budget is spent.
    func submit(
        _ number: Int, _ step: Step, with others: [Int], storedMediaType: String?, keepsPart: Bool,
        isUrgent: Bool)
    /// Stops asking for bytes of these downloads.
    func pause(_ numbers: [Int])
    /// Resumes these downloads.
    func resume(_ numbers: [Int])
    /// Ends these downloads.
    func cancel(_ numbers: [Int], discardingParts: Bool)
    /// Removes parts that no step will use.
    func discard(parts: [String])

    /// Returns why a file of this size has no room in Caches. Returns nil if it has room.
    func lackOfRoom(forFileOf size: Int64, at position: Int) -> Reason?
    /// Finds and reserves the name of a file that the server names.
    ///
    /// It is the remembered name, or else the one that the body's response suggests.
    func name(_ body: ReceivedBody, of position: Int) throws(MirrorError) -> Target
    /// Returns an error if the file at a target no longer has this stamp.
    func change(of target: Target, since stamp: FileStamp) -> MirrorError?
    /// Gives a step's bytes their final name; `promoted` follows.
    func promote(_ position: Int, _ promotion: Promotion)
    /// Gives all files of a set their final names, or none; `setEnded` follows.
    func promote(_ set: SetContents)
    /// Writes a step's row; `confirmed` follows.
    func confirm(_ position: Int, _ confirmed: Confirmed)
    /// Removes a file; `removed` follows.
    func remove(_ position: Int, _ removal: Removal)
    /// Promotes the files that wait for the disk now, without waiting for more.
    func hurry()
    /// Stops waiting for promotions that the disk has not finished.
    func abandonPromotions()
}

/// Inputs of a run: results of what it asked for, and requests of the caller that steers it.
enum RunInput: Sendable {
    /// Steps may begin: the limits hold and the index is open.
    case ready
    /// What is missing for the files that do not fit on the disk; comes before `ready`.
    case withoutRoom([Int: SpaceShortage])
    /// The transfers find room on the disk only after the plan's evictions; comes before `ready`.
    case roomIsShort
    /// A file that the plan keeps was changed or removed.
    ///
    /// This input comes before `ready`, or while the run `awaitsLook`.
    case changed(Int, MirrorError)
    /// The driver has looked at this number of the files that the plan keeps.
    ///
    /// Before `ready`, the number shows how far the look came if an end was requested. While the
    /// run `awaitsLook`, this input ends the run.
    case lookedAtKept(Int)
    /// No step may begin, because of this error.
    case refused(MirrorError)
    /// An event of a download.
    case transfer(Int, TransferEvent)
    /// A step's file has its final name, or failed to get it.
    case promoted(Int, PromotionResult)
    /// A step's row was written. An error means that this failed.
    case confirmed(Int, MirrorError?)
    /// A step's file was removed. An error means that the file stayed.
    case removed(Int, MirrorError?)
    /// A set was promoted, or was left as it was.
    case setEnded(Int, SetResult)
    /// Another run has ended its step for a target that this run's step waits for.
    ///
    /// `nil` means that the other run ended early and gave the target up.
    case joined(Int, Result<Event.Done, MirrorError>?)
    /// The run asks for no more bytes of the target. `nil` means all targets.
    case pause(Target?)
    /// The run asks for bytes of the target again. `nil` means all targets.
    case resume(Target?)
    /// The run cancels the transfer of the target. `nil` means all transfers.
    case cancel(Target?, discardingPart: Bool)
    /// Why resources that are not urgent may not be fetched. `nil` means that they may.
    case permission(Deferral?)
    /// The target is paused until a user resumes it. `nil` means all targets.
    case putAside(Target?)
    /// The run ends early. The parts of its transfers stay unless they are discarded.
    case end(RunEnding, discardingParts: Bool = false)
    /// Time has gone by.
    case tick
}

/// The cause that ends a run early.
enum RunEnding: Sendable {
    /// A limit was reached, or an error leaves no step that can succeed.
    case error(MirrorError)
    /// The caller interrupted the run, which ends with this exit code.
    case interrupted(exit: Int32)
    /// A resource failed, and the options say that a failure ends the run.
    case firstFailure
}

/// The rules that a run follows.
struct RunRules: Sendable {
    /// Whether the run makes no requests.
    var isOffline = false
    /// Whether the run succeeds although good files could not be confirmed.
    var acceptsStale = false
    /// Seconds since the last confirmation after which `acceptsStale` accepts a file no more.
    ///
    /// `nil` means no limit.
    var longestStale: Int64?
    /// Whether the first failure of a resource that is not optional ends the run.
    var stopsAtFirstFailure = false
    /// Seconds after which the run ends. `nil` means no limit.
    var deadline: Int64?
    /// Whether the run spends a budget of bytes.
    var hasBudget = false
    /// Whether the run looks at kept files only when all else has ended, and reports them then.
    var looksAtKeptLast = false
    /// The treatment of bytes at a target that mirror did not put there.
    var onConflict = ConflictPolicy.rename
    /// Targets that the run does not fetch until a user resumes them.
    var paused = PausedTargets()
    /// How many transfers the loop should know at once.
    var window = 1024

    /// The defaults.
    init() {}
}

/// A moment of a run, on two clocks.
struct RunMoment: Sendable {
    /// Milliseconds since the beginning of the work that the run is part of. It never goes back.
    var elapsed: Int64
    /// The time of day.
    var time: Instant
}
