/// Inputs of a run: results of its actions, and the wishes of the caller that steers it.
package enum RunInput: Sendable {
    /// The limits hold and the index is open: steps may begin.
    case ready
    /// The disk has room for the transfers only after the plan's evictions; comes before `ready`.
    case roomIsShort
    /// A file that the plan keeps is not as it was; comes before `ready`, or while the run `awaitsLook`.
    case changed(Int, MirrorError)
    /// So many of the files that the plan keeps were looked at. Comes before `ready` where the run was to
    /// end before all were; ends a run that `awaitsLook`.
    case lookedAtKept(Int)
    /// Nothing may begin, because of this.
    case refused(MirrorError)
    /// The rows for steps that `read` asked for.
    case found([KnownRow])
    /// Targets of transfers belong to this run now, and this is what the index knows of them.
    case claimed([KnownRow])
    /// Another run of the process has these steps' targets; how it ends comes as `joined`.
    case occupied([Int])
    /// The targets of these steps, all that a set needs, belong to this run now.
    case setClaimed(Int, [Int])
    /// Other runs of the process have these steps' targets, so the set got none; how they end comes
    /// as `joined`.
    case setOccupied(Int, [Int])
    /// The rows for these steps could not be read.
    case unreadable([Int], MirrorError)
    /// A transfer tells something.
    case transfer(Int, TransferEvent)
    /// A body's target, where the server was to name it.
    case named(Int, ReceivedBody, Result<Target, MirrorError>)
    /// A file has its final name, or not.
    case promoted(Int, PromotionResult)
    /// A row was written, or a file that stays was looked at; or not.
    case confirmed(Int, MirrorError?)
    /// An orphan is gone, or not.
    case removed(Int, MirrorError?)
    /// A set was promoted, or left as it was.
    case setEnded(Int, SetResult)
    /// The run that had a step's target has done with it; nil where that run ended early and gave the
    /// target up.
    case joined(Int, Result<Event.Done, MirrorError>?)
    /// No more bytes are to be asked for: of one target, or of all.
    case pause(Target?)
    /// Bytes may be asked for again.
    case resume(Target?)
    /// A transfer is to end, or all of them.
    case cancel(Target?, discardingPart: Bool)
    /// Resources that are not urgent may not be fetched now, for this reason, or may again.
    case permission(Deferral?)
    /// A transfer, or all of them, is put aside until further notice.
    case putAside(Target?)
    /// The run is to end early; the parts of its transfers stay, or go.
    case end(RunEnding, discardingParts: Bool = false)
    /// Time has gone by.
    case tick
}

/// An action that a run asks of its driver.
package enum RunAction: Sendable {
    /// An event is sent.
    case tell(Event.Body)
    /// Rows are read; `found` comes next.
    case read([RowWish])
    /// Targets are taken and their rows read; `claimed` and `occupied` come next.
    case claim([RowWish])
    /// The targets of these steps are taken, all of them or none; `setClaimed` or `setOccupied`
    /// comes next. Sets that share requests have one number (`SetClaims`).
    case claimSet(Int, [Int])
    /// Transfers are handed to the loop.
    case submit([Submission])
    /// The name that a server chose for a file is looked up, the remembered one or else the body's,
    /// and reserved; `named` comes next.
    case name(Int, ReceivedBody)
    /// Bytes get a final name; `promoted` comes next.
    case promote(Int, Promotion)
    /// A set gets its final names, all of it or nothing; `setEnded` comes next.
    case promoteSet(SetContents)
    /// A row is written; `confirmed` comes next.
    case confirm(Int, Confirmed)
    /// A file that stays is looked at: it must still have this stamp. `confirmed` comes next.
    case look(Int, Target, FileStamp)
    /// An orphan is removed; `removed` comes next.
    case remove(Int, Removal)
    /// Works that wait for the disk are promoted now, without waiting for more.
    case hurry
    /// Parts that nothing will use are removed.
    case discard(parts: [String])
    /// A target is released; the steps that wait for it learn how this step ended.
    case release(Int, Target, Result<Event.Done, MirrorError>?)
    /// The loop asks for no more bytes of these transfers.
    case pause([Int])
    /// The loop resumes these transfers.
    case resume([Int])
    /// The loop ends these transfers.
    case cancel([Int], discardingParts: Bool)
    /// The run does not wait for what the disk still does.
    case abandonPromotions
}

/// A row to be read for a step.
package struct RowWish: Sendable {
    /// The step.
    package let position: Int
    /// Whose row it is; not always the step's own target.
    package let target: Target
    /// What the plan knows of it.
    package var planned = PlannedRow.unread
}

/// A target's row when the plan was made.
package enum PlannedRow: Sendable {
    /// The plan does not have it.
    case unread
    /// There was none.
    case none
    /// This one.
    case row(IndexRecord)
}

/// The index's row for a step.
package struct KnownRow: Sendable {
    /// The step.
    package let position: Int
    /// The row; nil where there is none.
    package let row: IndexRecord?

    /// Takes a step and its row.
    package init(_ position: Int, _ row: IndexRecord?) {
        self.position = position
        self.row = row
    }
}

/// A transfer for the loop.
package struct Submission: Sendable {
    /// The step.
    package let position: Int
    /// The work to do.
    package let step: Step
    /// The media type of the version that is there, where known.
    package let storedMediaType: String?
    /// Whether its bytes must outlive the run, however few they are, because their set may not be
    /// promoted in it.
    package let keepsPart: Bool
    /// Whether it goes on when the budget is spent; false in a run without a budget.
    package let isUrgent: Bool

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
package enum RunEnding: Sendable {
    /// Nothing more can be done, or a limit was reached.
    case error(MirrorError)
    /// The caller asked for it; the exit code that follows.
    case interrupted(exit: Int32)
    /// A resource failed, and the options say that a failure ends the run.
    case firstFailure
}

/// The rules that a run follows.
package struct RunRules: Sendable {
    /// Whether no request is made.
    package var isOffline = false
    /// Whether good files that could not be confirmed leave the run successful.
    package var acceptsStale = false
    /// The greatest age of such files in seconds; nil is no limit.
    package var longestStale: Int64?
    /// Whether the first failure of a resource that is not optional ends the run.
    package var stopsAtFirstFailure = false
    /// Seconds after which the run ends; nil is no limit.
    package var deadline: Int64?
    /// Whether the run spends a budget of bytes.
    package var hasBudget = false
    /// Whether the files that the plan keeps are looked at when all else has ended: they are reported then.
    package var looksAtKeptLast = false
    /// The treatment of bytes that mirror did not put there.
    package var onConflict = ConflictPolicy.rename
    /// Targets that are not fetched until they are resumed.
    package var paused = PausedTargets()
    /// How many transfers the loop should know at once.
    package var window = 1024

    /// The defaults.
    package init() {}
}

/// A moment of a run.
package struct RunMoment: Sendable {
    /// Milliseconds since the work began that the run is part of; never goes back.
    package var elapsed: Int64
    /// The time of day.
    package var time: Instant

    /// Takes both clocks.
    package init(elapsed: Int64, time: Instant) {
        self.elapsed = elapsed
        self.time = time
    }
}
