internal import MirrorModel
internal import Synchronization

/// How much is under way at once: the loop is given a window of the transfers, in which each host has
/// its share, and waits where the network is faster than the disk.
extension Execution {
    /// Bounds on what waits for the promoter: the network can be faster than the disk.
    private static let mostLandings = 4096
    private static let mostLandingBytes = 11 << 20

    /// Begins the transfers, in the order of their priorities, the hosts in turn.
    func beginTransfers() {
        let feed = JobFeed(
            sharing.leaders.lazy.map { [self] position in
                let turn = turn(of: position)
                return (position: position, priority: turn.priority, host: turn.host)
            }, window: max(256, 8 * configuration.jobs))
        state.withLock { $0.feed = feed }
        feedLoop()
        // A run that was ended before there was a feed found nothing to leave out.
        if ending != nil { leaveOut(state.withLock { $0.feed.takeAll() }) }
    }

    /// When the turn of a step comes: its priority, and the host that is asked first.
    private func turn(of position: Int) -> (priority: Int32, host: Origin) {
        guard let (manifest, resource) = plan.steps.resource(at: position) else {
            return (0, Origin(scheme: .file, host: "", port: 0))
        }
        return plan.manifests[manifest].resources.turn(at: resource)
    }

    /// Gives the loop as many transfers as it should know at once.
    func feedLoop() {
        while true {
            let next = state.withLock { state in
                guard state.ending == nil else { return [Int]() }
                state.isFeedHeld =
                    state.landings >= Self.mostLandings
                    || state.landingBytes >= Self.mostLandingBytes
                return state.isFeedHeld ? [] : state.feed.take()
            }
            if next.isEmpty { return }
            submit(next)
            // Those that did not begin, or ended already, leave their places.
            state.withLock { state in
                for position in next where state.jobs[position] == nil {
                    _ = state.feed.ended(position)
                }
            }
        }
    }

    /// Notes that the loop works on a step, and what is known of its target; false when the run is
    /// ending and it must not begin.
    func note(job: Int, for position: Int, row: IndexRecord?) -> Bool {
        state.withLock { state in
            guard state.ending == nil else { return false }
            state.jobs[position] = job
            state.rows[position] = row
            return true
        }
    }

    /// Notes that a step's transfer waits: others may begin meanwhile.
    func noteDelay(of position: Int) {
        if state.withLock({ $0.feed.delayed(position) }) { feedLoop() }
    }

    /// Notes that the loop has done with a step, and what it cost; gives what was known of its target.
    func noteEnd(of position: Int, cost: TransferCost) -> IndexRecord? {
        let (goesOn, row) = state.withLock { state in
            state.jobs[position] = nil
            let row = state.rows.removeValue(forKey: position)
            state.ledger.enterCost(
                requests: cost.requests, received: cost.bytesReceived, reused: cost.bytesReused)
            return (state.feed.ended(position), row)
        }
        if goesOn { feedLoop() }
        return row
    }

    /// Notes that bytes are on their way to a final name.
    func noteLanding(bytesInMemory: Int) {
        state.withLock { state in
            state.landings += 1
            state.landingBytes += bytesInMemory
        }
    }

    /// Notes that a landing is over, and goes on where the feed waited for it.
    func noteLanded(bytesInMemory: Int) {
        let goesOn = state.withLock { state in
            state.landings -= 1
            state.landingBytes -= bytesInMemory
            return state.isFeedHeld && state.feed.isRunningLow
        }
        if goesOn { feedLoop() }
    }

    /// Ends steps, and those that share their requests, whose turn does not come in this run. They
    /// are counted and have no event each: a run of a million entries ends within a second too.
    func leaveOut(_ positions: [Int]) {
        let all = positions + positions.flatMap { sharing.followers[$0] ?? [] }
        let isLast = state.withLock { state in
            state.ledger.enterLeftOut(all.count { state.open.remove($0) })
            return state.isDone()
        }
        if isLast { settled.raise() }
    }
}
