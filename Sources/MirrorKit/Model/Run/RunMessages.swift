/// Inputs of a run: results of its actions, and requests of the caller that steers it.
enum RunInput: Sendable {
    /// Steps may begin: the limits hold and the index is open.
    case ready
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
    /// The rows of the steps that `read` asked for.
    case found([KnownRow])
    /// The run has claimed the targets of these transfers, and these are their rows.
    case claimed([KnownRow])
    /// Another run of the process has these steps' targets. `joined` follows when it is done.
    case occupied([Int])
    /// The run has claimed all targets that a group of sets needs: the group, and its steps.
    case setClaimed(Int, [Int])
    /// Other runs of the process have these steps' targets, so the run claimed none for the group.
    ///
    /// `joined` follows for each step when the other run is done.
    case setOccupied(Int, [Int])
    /// The index could not read the rows of these steps.
    case unreadable([Int], MirrorError)
    /// An event of a step's transfer.
    case transfer(Int, TransferEvent)
    /// The target of a received body whose name the server was to choose.
    case named(Int, ReceivedBody, Result<Target, MirrorError>)
    /// A step's file has its final name, or failed to get it.
    case promoted(Int, PromotionResult)
    /// A step's row was written, or its file was looked at. An error means that this failed.
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

/// An action that a run asks of its driver.
enum RunAction: Sendable {
    /// Send an event.
    case tell(Event.Body)
    /// Read rows; `found` follows.
    case read([RowWish])
    /// Claim targets and read their rows; `claimed` and `occupied` follow.
    case claim([RowWish])
    /// Claim the targets of these steps, all or none; `setClaimed` or `setOccupied` follows.
    ///
    /// The number is that of a group of sets: sets that share requests are one group (`SetClaims`).
    case claimSet(Int, [Int])
    /// Give transfers to the loop that carries them out.
    case submit([Submission])
    /// Find and reserve the name of a file that the server names; `named` follows.
    ///
    /// It is the remembered name, or else the one that the body's response suggests.
    case name(Int, ReceivedBody)
    /// Give a step's bytes their final name; `promoted` follows.
    case promote(Int, Promotion)
    /// Give all files of a set their final names, or none; `setEnded` follows.
    case promoteSet(SetContents)
    /// Write a step's row; `confirmed` follows.
    case confirm(Int, Confirmed)
    /// Check that a step's file still has this stamp; `confirmed` follows.
    case look(Int, Target, FileStamp)
    /// Remove a file; `removed` follows.
    case remove(Int, Removal)
    /// Promote the files that wait for the disk now, without waiting for more.
    case hurry
    /// Remove parts that no step will use.
    case discard(parts: [String])
    /// Release a step's target. Steps of other runs that wait for it get the result.
    case release(Int, Target, Result<Event.Done, MirrorError>?)
    /// Stop asking for bytes of these transfers.
    case pause([Int])
    /// Resume these transfers.
    case resume([Int])
    /// End these transfers.
    case cancel([Int], discardingParts: Bool)
    /// Stop waiting for promotions that the disk has not finished.
    case abandonPromotions
}

/// A request to read a row for a step.
struct RowWish: Sendable {
    /// The position of the step.
    let position: Int
    /// The target of the row. For a step that copies or moves a file, this is the file's target.
    let target: Target
    /// What the plan knows of the row.
    var planned = PlannedRow.unread
}

/// A target's row when the plan was made.
enum PlannedRow: Sendable {
    /// The plan does not know the row.
    case unread
    /// The index had no row of the target.
    case none
    /// The index had this row.
    case row(IndexRecord)
}

/// The index's row for a step.
struct KnownRow: Sendable {
    /// The position of the step.
    let position: Int
    /// The row. `nil` means that the index has no row of the target.
    let row: IndexRecord?

    /// Takes a step and its row.
    init(_ position: Int, _ row: IndexRecord?) {
        self.position = position
        self.row = row
    }
}

/// A transfer for the loop.
struct Submission: Sendable {
    /// The position of the step.
    let position: Int
    /// The step to carry out.
    let step: Step
    /// The media type of the version at the target, where known.
    let storedMediaType: String?
    /// Whether the bytes go into a part, however few they are, because they must outlive the run.
    ///
    /// True for a step of a set, because this run may not promote the set.
    let keepsPart: Bool
    /// Whether the transfer goes on when the budget is spent. False in a run without a budget.
    let isUrgent: Bool

    init(
        _ position: Int, _ step: Step, _ storedMediaType: String?, keepsPart: Bool, isUrgent: Bool
    ) {
        self.position = position
        self.step = step
        self.storedMediaType = storedMediaType
        self.keepsPart = keepsPart
        self.isUrgent = isUrgent
    }
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
