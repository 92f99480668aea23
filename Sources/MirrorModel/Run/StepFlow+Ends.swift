// Steps that end only because the run does.

extension StepFlow {
    /// Ends steps, and those that share their requests, whose turn does not come in this run. They
    /// are counted and have no event each: a run of a million entries ends within a second too.
    mutating func leaveOut(_ positions: some Collection<Int>) {
        accounts.leaveOut(positions)
        if !sets.isEmpty { leaveOutOfSets(positions) }
        if sharing.followers.isEmpty { return }
        for position in positions { accounts.leaveOut(sharing.followers[position] ?? []) }
    }

    /// Notes that sets will not be complete, because these steps are not reached.
    private mutating func leaveOutOfSets(_ positions: some Collection<Int>) {
        for position in positions {
            for left in [position] + (sharing.followers[position] ?? []) {
                if isEssential(left) { sets.note(.ended, at: left) }
                sets.close(left)
            }
        }
    }

    /// Skips the steps that wait for their turn, for a resume, or for another run.
    mutating func leaveOutWhatWaits() {
        leaveOut(window.takeRest())
        for position in window.takeHeld() { breakOff(position) }
        leaveOut(joined)
        joined = []
    }

    /// Ends a step: it is counted, and has no event.
    mutating func breakOff(_ position: Int) {
        accounts.enterUnfinished(position)
        leaveOut(CollectionOfOne(position))
        close(position, .abandoned, isPassedOn: false)
    }
}
