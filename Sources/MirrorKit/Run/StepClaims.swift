internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem

/// What a run gets to know about its steps: whether their targets are its own, and their rows.
///
/// It belongs to the thread of the run. While no other run and no other verb of the process changes
/// rows, those that the plan has are right, and none is read again. It cannot be copied, because a
/// copy for each step would count the references of a whole plan.
struct StepClaims: ~Copyable {
    private let plan: Plan
    private let engine: Engine
    private let run: Int
    private let mailbox: Mailbox<RunMessage>
    private let heldByCaller: [FileLease]
    /// The state in which the rows are those that the plan has; nil where they were not from the start.
    private var rowsMark: RowsMark?
    /// What no server may choose; nil until one chooses a name.
    private var given: GivenTargets?

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
    /// is there (`ServerNameRows`); until then the claim alone keeps it for this step.
    mutating func name(_ position: Int, _ body: ReceivedBody) throws(MirrorError) -> Target {
        let step = plan.steps[position]
        let target: Target
        if let key = plan.serverNameKey(of: step),
            let remembered = try engine.index.serverName(of: key)
        {
            target = remembered
        } else {
            target = try plan.targetNamed(by: body, for: step)
            if target != step.target, try isGiven(target) {
                throw MirrorError(taken: target, for: step.target)
            }
        }
        try engine.claims.reserve(
            target, for: step.target, by: claimant(position), in: engine.root)
        return target
    }

    /// Whether a manifest of the run gives a target, or one like it, to a resource.
    private mutating func isGiven(_ target: Target) throws(MirrorError) -> Bool {
        if let given { return given.has(target) }
        let index = engine.index
        let made = try GivenTargets(of: plan) { (key) throws(MirrorError) in
            try index.serverName(of: key)
        }
        given = made
        return made.has(target)
    }

    /// Lets a target go, and tells those who wait for it how its step ended.
    func release(_ position: Int, _ target: Target, _ end: StepEnd) {
        engine.claims.release(target, by: claimant(position), end)
    }

    private func claimant(_ position: Int) -> TargetClaims.Claimant {
        TargetClaims.Claimant(run: run, position: position)
    }
}
