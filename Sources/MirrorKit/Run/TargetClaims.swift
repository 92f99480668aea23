internal import Synchronization

/// Which step of which run has each target under way.
///
/// If two runs of a session want one target at the same time, it is transferred once. The second
/// run waits until the first one's step ends.
final class TargetClaims: Sendable {
    /// A step of a run.
    struct Claimant: Sendable, Hashable {
        let run: Int
        let position: Int
    }

    private struct Claim {
        let claimant: Claimant
        var waiters: [(position: Int, mailbox: Mailbox<RunMessage>)] = []

        mutating func belongs(to other: Claimant, orTells mailbox: Mailbox<RunMessage>) -> Bool {
            if claimant != other { waiters.append((other.position, mailbox)) }
            return claimant == other
        }

        func report(_ end: Result<Event.Done, MirrorError>?) {
            for waiter in waiters {
                waiter.mailbox.post(.input(.joined(waiter.position, end)))
            }
        }
    }

    private struct State {
        var byTarget: [Target: Claim] = [:]
        /// The target that a server named for a step; the step has claimed it in addition to its
        /// own.
        var named: [Claimant: Target] = [:]

        /// Removes a step's claim. Returns nil if another step has the target.
        mutating func end(_ target: Target, by claimant: Claimant) -> Claim? {
            guard let claim = byTarget.removeValue(forKey: target) else { return nil }
            if claim.claimant == claimant { return claim }
            byTarget[target] = claim
            return nil
        }
    }

    private let state = Mutex(State())

    /// Claims a target for a step. Returns false if another step has the target.
    ///
    /// The mailbox then gets a message when the other step ends.
    func claim(
        _ target: Target, by claimant: Claimant, waiting mailbox: Mailbox<RunMessage>
    ) -> Bool {
        state.withLock { state in
            state.byTarget[target, default: Claim(claimant: claimant)]
                .belongs(to: claimant, orTells: mailbox)
        }
    }

    /// Claims all of these targets, or none if another step has one of them.
    ///
    /// Returns the positions of the claimants whose targets other steps have. The mailbox gets a
    /// message for each of them when the other step ends. A claimant that waits holds none of the
    /// targets, so no two claimants can wait for each other.
    func claim(
        _ targets: some Sequence<(target: Target, claimant: Claimant)>,
        waiting mailbox: Mailbox<RunMessage>
    ) -> [Int] {
        let targets = Array(targets)
        return state.withLock { state in
            let occupied = targets.filter { target in
                !(state.byTarget[target.target]?.belongs(
                    to: target.claimant, orTells: mailbox) ?? true)
            }
            if occupied.isEmpty {
                for (target, claimant) in targets where state.byTarget[target] == nil {
                    state.byTarget[target] = Claim(claimant: claimant)
                }
            }
            return occupied.map(\.claimant.position)
        }
    }

    /// Claims a target that a server named. Throws `nameTaken` if a step or a file has the target.
    func reserve(
        _ target: Target, for provisional: Target, by claimant: Claimant, in root: RootDirectory
    ) throws(MirrorError) {
        if target == provisional { return }
        let isFree = state.withLock { state in
            if let claim = state.byTarget[target] { return claim.claimant == claimant }
            state.byTarget[target] = Claim(claimant: claimant)
            state.named[claimant] = target
            return true
        }
        var scan = StatCursor(root)
        guard isFree, try scan.look(at: target) == .absent else {
            throw MirrorError(taken: target, for: provisional)
        }
    }

    /// Releases the claims of a step, and reports the step's end to steps that wait for its target.
    func release(_ target: Target, by claimant: Claimant, _ end: Result<Event.Done, MirrorError>?) {
        let (own, named) = state.withLock { state in
            let named = state.named.isEmpty ? nil : state.named.removeValue(forKey: claimant)
            return (
                state.end(target, by: claimant),
                named.flatMap { state.end($0, by: claimant) }
            )
        }
        own?.report(end)
        named?.report(end)
    }
}

extension MirrorError {
    /// The failure of a resource whose server chose a name that is not free.
    init(taken target: Target, for provisional: Target) {
        self.init(
            .nameTaken,
            "\(target): the server suggests this name for the resource in \(provisional.folder)/, and it is taken. Give the resource a path with a name.",
            target: provisional)
    }
}

// MARK: The claims of one run

/// The claims of one run's steps on their targets, and the rows of these targets.
///
/// Only the thread of the run uses this type. The rows that the plan has stay right while nothing
/// else in the process changes rows. Then no row is read again. The struct cannot be copied,
/// because a copy for each step would retain and release a whole plan.
struct StepClaims: ~Copyable {
    private let plan: Plan
    private let engine: Engine
    private let run: Int
    private let mailbox: Mailbox<RunMessage>
    private let heldByCaller: [FileLease]
    /// The mark of the state in which the plan's rows are right.
    ///
    /// `nil` means that they were not right when the run began.
    private var rowsMark: Int?
    /// The folded paths of all targets of the run's manifests, and of the folders above them.
    ///
    /// Empty if no server chooses a name. No server may choose one of these paths for another
    /// resource, even if no file is there. Otherwise two resources of the next plan would have one
    /// target, and that plan would be refused.
    private var givenPaths: Set<String> = []

    /// The results of claims on targets.
    struct Answer {
        /// Steps that have claimed their targets, with the rows that the plan has.
        var planned: [KnownRow] = []
        /// Steps that have claimed their targets, and whose rows must be read.
        var unread: [RowWish] = []
        /// Steps whose targets another run has. That run posts a message when its step ends.
        var occupied: [Int] = []
        /// Steps that cannot claim their targets, each with its cause.
        ///
        /// Either an earlier run left the target in an unfinished promotion. Or another run has the
        /// target and waits for this run's caller.
        var blocked: [(position: Int, cause: MirrorError)] = []
    }

    init(_ execution: Execution) {
        plan = execution.plan
        engine = execution.engine
        run = execution.number
        mailbox = execution.mailbox
        heldByCaller = execution.heldByCaller
    }

    /// Stores the mark of the rows when the run begins.
    mutating func begin() { rowsMark = engine.index.rows.beginRun(since: plan.rowsMark) }

    /// Reads what a name that a server chooses is compared with, where a file is fetched whose name the
    /// server chooses: later it would hold up the transfers.
    mutating func prepare() throws(MirrorError) {
        let isNeeded = plan.steps.notable.contains { position in
            guard let (manifest, at) = plan.steps.request(at: position) else { return false }
            return plan.manifests[manifest].resources.isNamedByServer(at: at)
        }
        if isNeeded { givenPaths = try readGivenPaths() }
    }

    /// Notes that the run changes no more rows.
    func end() { engine.index.rows.endRun() }

    /// Claims the targets of transfers, each on its own.
    func claim(_ wishes: [RowWish]) -> Answer {
        var answer = Answer()
        let trustsPlan = engine.index.rows.areThose(of: rowsMark)
        for wish in wishes {
            if let set = engine.unfinished.first(where: { $0.contains(wish.target) }) {
                answer.blocked.append((wish.position, set.cause))
                continue
            }
            let isOurs = engine.claims.claim(
                wish.target, by: claimant(wish.position), waiting: mailbox)
            guard isOurs else {
                if engine.leases.first(of: [wish.target], under: heldByCaller) != nil {
                    answer.blocked.append((wish.position, .heldByCaller(wish.target)))
                } else {
                    answer.occupied.append(wish.position)
                }
                continue
            }
            switch wish.planned {
            case .none where trustsPlan: answer.planned.append(KnownRow(wish.position, nil))
            case .row(let row) where trustsPlan:
                answer.planned.append(KnownRow(wish.position, row))
            case .unread, .none, .row: answer.unread.append(wish)
            }
        }
        return answer
    }

    /// Claims the targets of all these steps, or of none of them.
    ///
    /// Returns the steps whose targets other runs have. Those runs post a message when their steps
    /// end.
    func claimTogether(_ positions: [Int]) -> [Int] {
        engine.claims.claim(
            positions.map { (plan.steps.target(at: $0), claimant($0)) }, waiting: mailbox)
    }

    /// Reads the rows of the wishes' targets.
    func rows(_ wishes: [RowWish]) throws(MirrorError) -> [KnownRow] {
        let rows = try engine.index.records(for: wishes.map(\.target))
        return zip(wishes, rows).map { KnownRow($0.position, $1) }
    }

    /// Claims the target of a body if the manifest lets the server choose the name.
    ///
    /// A remembered name takes precedence over what the server suggests now. The index remembers a
    /// new name when the file is there (`fixServerName`). Until then only the claim reserves the
    /// name for this step.
    mutating func name(_ position: Int, _ body: ReceivedBody) throws(MirrorError) -> Target {
        let step = plan.steps[position]
        let target: Target
        if let key = plan.serverNameKey(of: step),
            let remembered = try engine.index.serverName(of: key)
        {
            target = remembered
        } else {
            target = try plan.targetNamed(by: body, for: step)
            if target != step.target, givenPaths.contains(CaseFolding.fold(target.path)) {
                throw MirrorError(taken: target, for: step.target)
            }
        }
        try engine.claims.reserve(
            target, for: step.target, by: claimant(position), in: engine.root)
        return target
    }

    private func readGivenPaths() throws(MirrorError) -> Set<String> {
        var paths: Set<String> = []
        for manifest in plan.manifests {
            for at in manifest.resources.indices {
                var target: Target? = manifest.resources.target(at: at)
                if manifest.resources.isNamedByServer(at: at) {
                    // The name that a server chose in an earlier run.
                    target = try engine.index.serverName(
                        of: manifest.serverNameKey(of: manifest.resources[at]))
                }
                guard var path = target?.path[...] else { continue }
                while paths.insert(CaseFolding.fold(String(path))).inserted,
                    let slash = path.lastIndex(of: "/")
                {
                    path = path[..<slash]
                }
            }
        }
        return paths
    }

    /// Releases a target, and reports the end of its step to the steps that wait for it.
    func release(_ position: Int, _ target: Target, _ end: Result<Event.Done, MirrorError>?) {
        engine.claims.release(target, by: claimant(position), end)
    }

    private func claimant(_ position: Int) -> TargetClaims.Claimant {
        TargetClaims.Claimant(run: run, position: position)
    }
}
