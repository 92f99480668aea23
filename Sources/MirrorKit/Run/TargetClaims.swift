internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// The step and the run that have each target under way.
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
        /// Targets that were claimed in addition to a step's own, because a server named them.
        var named: [Claimant: Target] = [:]

        /// Removes a claim; nil where another step has the target.
        mutating func end(_ target: Target, by claimant: Claimant) -> Claim? {
            guard let claim = byTarget.removeValue(forKey: target) else { return nil }
            if claim.claimant == claimant { return claim }
            byTarget[target] = claim
            return nil
        }
    }

    private let state = Mutex(State())

    /// Claims a target for a step; false if another step has it.
    ///
    /// In that case the mailbox gets a message at the end of the other step.
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
    /// Returns the positions of the claimants whose targets are occupied. The mailbox gets a
    /// message for each of those when the other step ends. No claimant keeps some targets while it
    /// waits for others, so no two can wait for each other.
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

    /// Claims a target that a server named; throws `nameTaken` if it is not free.
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

    /// Releases the claims of a step, and reports its end to the steps that wait for it.
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

/// What a run gets to know about its steps: whether their targets are its own, and their rows.
///
/// One thread has it at a time, that of its run. While no other run and no other verb of the process changes
/// rows, those that the plan has are right, and none is read again. It cannot be copied, because a
/// copy for each step would count the references of a whole plan.
struct StepClaims: ~Copyable {
    private let plan: Plan
    private let engine: Engine
    private let run: Int
    private let mailbox: Mailbox<RunMessage>
    private let heldByCaller: [FileLease]
    /// The state in which the rows are those that the plan has; nil where they were not from the start.
    private var rowsMark: Int?
    /// The folded paths of the targets that the run's manifests give to their resources, and of the
    /// folders above them; empty where no server chooses a name.
    ///
    /// No server may choose one of them for another resource, not even while nothing is there: the next
    /// plan would have two resources with one target, and would be refused.
    private var givenPaths: Set<String> = []

    /// What became of the wishes to take targets.
    struct Answer {
        /// Steps whose targets the run has now, with the rows that the plan has.
        var planned: [KnownRow] = []
        /// Steps whose targets the run has now, and whose rows are to be read.
        var unread: [RowWish] = []
        /// Steps whose targets another run has; it posts how it ends them.
        var occupied: [Int] = []
        /// Steps whose targets an earlier run left in the middle of a promotion, or which another run has
        /// until the caller of this one gives them back.
        var blocked: [(position: Int, cause: MirrorError)] = []
    }

    init(_ execution: Execution) {
        plan = execution.plan
        engine = execution.engine
        run = execution.number
        mailbox = execution.mailbox
        heldByCaller = execution.heldByCaller
    }

    /// Notes the state of the rows when the run begins.
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

    /// Takes the targets of transfers.
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

    /// Takes the targets of all these steps, or of none of them; returns the steps whose targets other
    /// runs have, which post how they end them.
    func claimTogether(_ positions: [Int]) -> [Int] {
        engine.claims.claim(
            positions.map { (plan.steps.target(at: $0), claimant($0)) }, waiting: mailbox)
    }

    /// Reads the rows that steps wish for.
    func rows(_ wishes: [RowWish]) throws(MirrorError) -> [KnownRow] {
        let rows = try engine.index.records(for: wishes.map(\.target))
        return zip(wishes, rows).map { KnownRow($0.position, $1) }
    }

    /// Reserves the target of a body if the manifest lets the server choose the name.
    ///
    /// A remembered name wins over what the server suggests now. A new name is remembered once the file
    /// is there (`fixServerName`); until then the claim alone keeps it for this step.
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
                    // The name that a server chose before.
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
