import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Runs of one process that want the same targets, in any order: each of them comes to its end.
@Suite(.timeLimit(.minutes(1))) struct JoinedRunsTests {
    @Test(arguments: 0..<300) func noTwoRunsWaitForEachOther(seed: Int) throws {
        let runs = try JoinedRuns(seed: UInt64(seed))
        runs.carryOut()
        #expect(runs.unfinished == [])
        #expect(runs.targetsKept == [])
    }

    /// Whatever is cancelled, and whoever ends before the others, leaves no target to nobody.
    @Test(arguments: 0..<300) func whatIsGivenUpIsLetGo(seed: Int) throws {
        let runs = try JoinedRuns(seed: UInt64(seed))
        runs.isDisturbed = true
        runs.carryOut()
        #expect(runs.unfinished == [])
        #expect(runs.targetsKept == [])
    }
}

/// Three runs of random plans, a loop that fails now and then, and an honest disk.
private final class JoinedRuns {
    private struct Claim {
        let run: Int
        let position: Int
        var waiters: [(run: Int, position: Int)] = []
    }

    private var surroundings: [Surroundings] = []
    private var machines: [RunMachine] = []
    private var inboxes: [[RunInput]] = []
    private var claims: [Target: Claim] = [:]
    private var random: SplitMix64
    /// Whether targets are cancelled now and then, and one run is interrupted.
    var isDisturbed = false
    private let moment = RunMoment(elapsed: 0, time: Instant(seconds: 0))

    init(seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        let names = (0..<10).map { "f\($0)" }
        var plans: [(Plan, RunRules)] = []
        for run in 0..<3 {
            // Where all have one source, each set has one request.
            let rig = try RunRig(
                fetching: Array(names.shuffled(using: &random).prefix(7)),
                from: seed % 3 == 0 ? "one" : nil, isAtomic: run < 2 || seed % 2 == 0
            ) { $0.window = 2 }
            plans.append((rig.machine.plan, rig.machine.steps.book.rules))
            inboxes.append([.ready])
        }
        for (run, (plan, rules)) in plans.enumerated() {
            let surroundings = Surroundings(of: self, run, plan)
            self.surroundings.append(surroundings)
            machines.append(RunMachine(plan, rules: rules, in: surroundings))
        }
    }

    /// The runs that are not over though nothing more will happen.
    var unfinished: [Int] { machines.indices.filter { !machines[$0].isOver } }

    var targetsKept: [String] { claims.keys.map(\.name).sorted() }

    /// Tells the runs in any order what happened, until nothing happens any more.
    func carryOut() {
        while let run = inboxes.indices.filter({ !inboxes[$0].isEmpty }).randomElement(
            using: &random)
        {
            if isDisturbed { disturb(run) }
            let input = inboxes[run].removeFirst()
            guard !machines[run].isOver else { continue }
            for input in [input, .tick] { take(input, run) }
        }
    }

    private func disturb(_ run: Int) {
        let cancelled = Int.random(in: 0..<100, using: &random)
        if cancelled < 7 {
            let target = machines[run].plan.steps.target(at: cancelled)
            // A session tells all of its runs.
            for run in inboxes.indices {
                inboxes[run].append(.cancel(target, discardingPart: false))
            }
        } else if cancelled < 9, run == 0 {
            inboxes[run].append(.end(.interrupted(exit: 130)))
        }
    }

    private func take(_ input: RunInput, _ run: Int) {
        machines[run].take(input, at: moment)
        while machines[run].wait == 0, !machines[run].isOver {
            machines[run].take(.tick, at: moment)
        }
    }

    fileprivate func post(_ input: RunInput, to run: Int) { inboxes[run].append(input) }

    /// Takes the targets of steps, or none where others have one; returns the steps of those.
    fileprivate func claim(_ positions: [Int], of plan: Plan, by run: Int) -> [Int] {
        let others = positions.filter { (claims[plan.steps.target(at: $0)]?.run ?? run) != run }
        for position in others {
            claims[plan.steps.target(at: position)]?.waiters.append((run, position))
        }
        if others.isEmpty {
            for position in positions where claims[plan.steps.target(at: position)] == nil {
                claims[plan.steps.target(at: position)] = Claim(run: run, position: position)
            }
        }
        return others
    }

    fileprivate func release(
        _ target: Target, by run: Int, _ end: Result<Event.Done, MirrorError>?
    ) {
        guard claims[target]?.run == run, let claim = claims.removeValue(forKey: target) else {
            Issue.record("run \(run) let go what it does not have: \(target)")
            return
        }
        for waiter in claim.waiters { post(.joined(waiter.position, end), to: waiter.run) }
    }

    fileprivate func answer(to position: Int) -> RunInput {
        if Int.random(in: 0..<20, using: &random) > 0, let received = try? RunRig.received() {
            return .transfer(position, received)
        }
        let lost = MirrorError(.connectionLost, "lost")
        return .transfer(position, .ended(.failed(lost, TransferCost(requests: 1))))
    }
}

/// An honest disk, and what the runs of a process share.
private final class Surroundings: RunSurroundings {
    private unowned let runs: JoinedRuns
    private let run: Int
    private let plan: Plan

    init(of runs: JoinedRuns, _ run: Int, _ plan: Plan) {
        (self.runs, self.run, self.plan) = (runs, run, plan)
    }

    let hasPlannedRows = false

    func rows(of targets: [Target]) throws(MirrorError) -> [IndexRecord?] {
        targets.map { _ in nil }
    }

    func claim(_ positions: [Int]) throws(MirrorError) -> [Int] {
        runs.claim(positions, of: plan, by: run)
    }

    func release(_ position: Int, _ end: Result<Event.Done, MirrorError>?) {
        runs.release(plan.steps.target(at: position), by: run, end)
    }

    func submit(
        _ position: Int, _ step: Step, with others: [Int], storedMediaType: String?,
        keepsPart: Bool, isUrgent: Bool
    ) { runs.post(runs.answer(to: position), to: run) }

    func cancel(_ positions: [Int], discardingParts: Bool) {
        for position in positions {
            runs.post(
                .transfer(position, .ended(.cancelled(TransferCost(requests: 1)))), to: run)
        }
    }

    func change(of target: Target, since stamp: FileStamp) -> MirrorError? { nil }

    func lackOfRoom(forFileOf size: Int64, at position: Int) -> Reason? { nil }

    func name(_ body: ReceivedBody, of position: Int) throws(MirrorError) -> Target {
        plan.steps.target(at: position)
    }

    func promote(_ position: Int, _ promotion: Promotion) {
        runs.post(.promoted(position, end(of: promotion)), to: run)
    }

    func promote(_ set: SetContents) {
        let files = set.promotions.map { ($0.position, end(of: $0.promotion)) }
        let promoted = SetResult.Promoted(
            files: Dictionary(uniqueKeysWithValues: files), way: .rename)
        runs.post(.setEnded(set.number, .promoted(promoted)), to: run)
    }

    private func end(of promotion: Promotion) -> PromotionResult {
        .promoted(promotion, promotion.record.stamp, conflict: nil)
    }

    func confirm(_ position: Int, _ confirmed: Confirmed) {
        runs.post(.confirmed(position, nil), to: run)
    }

    func remove(_ position: Int, _ removal: Removal) {
        runs.post(.removed(position, nil), to: run)
    }

    func tell(_ event: Event.Body, _ totals: RunTotals) {}
    func pause(_ positions: [Int]) {}
    func resume(_ positions: [Int]) {}
    func discard(parts: [String]) {}
    func hurry() {}
    func abandonPromotions() {}
}
