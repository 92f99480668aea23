internal import MirrorModel
internal import Synchronization

/// The steps of a run, begun: those that need no server first.
extension Execution {
    /// How many of the steps that wait for the disk only are under way at once; each takes a
    /// kilobyte or more, and there may be a million.
    private static let mostAtOnce = 8192

    /// Begins every step. Copies and moves come before transfers, which may replace what they read.
    func begin() {
        var kept = plan.steps.plainKeeps
        var adopted: [Int] = []
        var local: [Int] = []
        for position in plan.steps.notable {
            let step = plan.steps[position]
            switch step.means {
            case .nothing where step.kind == .keep: kept += 1
            case .nothing: local.append(position)
            case .adoption:
                adopted.append(position)
            case .copy, .move: local.append(position)
            case .transfer, .removal: break
            }
        }
        report(kept: kept)
        state.withLock { state in
            for positions in [adopted, local, sharing.leaders] { state.open.insert(positions) }
            state.open.insert(sharing.followers.values.joined())
        }
        if let rest = inTurn(adopted, begin: adopt) {
            leaveOut(rest + local)
        } else if let rest = inTurn(local, begin: beginLocally) {
            leaveOut(rest)
        }
        engine.promoter.hurry()
        beginTransfers()
    }

    /// Begins the removals, once everything else has ended.
    func beginRemovals() {
        let removals = plan.steps.indices.filter(plan.steps.isRemoval)
        state.withLock { $0.open.insert(removals) }
        guard let rest = inTurn(removals, begin: remove) else { return }
        state.withLock { state in
            for position in rest { state.open.remove(position) }
            state.ledger.enterOrphansLeft(rest.count)
        }
    }

    /// Begins steps one after the other, as the ones before them end; gives those whose turn did
    /// not come before the run was ended, nil when all were begun.
    private func inTurn(_ positions: [Int], begin: (Int) -> Void) -> [Int]? {
        let open = state.withLock { $0.open.count }
        for (begun, position) in positions.enumerated() {
            // Nothing else ends steps at this time, so what is no longer open was begun here.
            while begun % 512 == 0,
                begun - (open - state.withLock { $0.open.count }) >= Self.mostAtOnce, ending == nil
            {
                rest()
            }
            if begun % 512 == 0, ending != nil { return Array(positions[begun...]) }
            begin(position)
        }
        return nil
    }

    /// Waits a moment for what is under way, or for the reader.
    private func rest() {
        secondsLeft()
        settled.wait(milliseconds: 5)
        settled.clear()
    }

    private func report(kept: Int) {
        state.withLock { $0.ledger.enterKept(kept) }
        for target in plan.supersededParts.keys.sorted() {
            guard let position = plan.steps.position(of: target), isKept(plan.steps[position])
            else { continue }
            discardSupersededParts(of: target)
        }
        guard options.reportsKept, kept > 0 else { return }
        var rows = try? RecordedVerifications(engine.index)
        for step in plan.steps where isKept(step) {
            while unread() >= Self.mostAtOnce, ending == nil { rest() }
            if ending != nil { return }
            // What cannot be read vouches for nothing.
            var verified = try? rows?.verification(of: step.target)
            // A pinned file is kept only where the index knows that it has the digest.
            if verified != .digest, plan.resource(of: step)?.pin != nil { verified = .digest }
            var done = Event.Done(
                target: step.target, step: step.kind, outcome: .kept, reason: step.reason,
                verified: verified ?? .none)
            if case .recorded(let sha256) = step.occupant { done.sha256 = sha256 }
            emit(.done(done))
        }
    }

    private func isKept(_ step: Step) -> Bool { step.kind == .keep && step.means == .nothing }
}

/// What the bytes of files were held against, asked for in the order of the files' paths: one walk over
/// the index instead of a query for each of a million files.
private struct RecordedVerifications: ~Copyable {
    private var cursor: BriefCursor
    private var isAtRow = true
    private var hasBegun = false

    init(_ index: Index) throws(MirrorError) {
        cursor = try index.cursorOfVerifications()
    }

    /// The verification of a target's row; none where there is no row.
    mutating func verification(of target: Target) throws(MirrorError) -> Verification {
        if !hasBegun { isAtRow = try cursor.goOn() }
        hasBegun = true
        var path = target.path
        while isAtRow, let row = cursor.row {
            let order = path.withUTF8 { ByteOrder.compare(row.path, $0) }
            if order == 0 { return cursor.verification }
            if order > 0 { break }
            isAtRow = try cursor.goOn()
        }
        return .none
    }
}
