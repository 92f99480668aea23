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
        for run in 0..<3 {
            // Where all have one source, each set has one request.
            let rig = try RunRig(
                fetching: Array(names.shuffled(using: &random).prefix(7)),
                from: seed % 3 == 0 ? "one" : nil, isAtomic: run < 2 || seed % 2 == 0
            ) { $0.window = 2 }
            machines.append(rig.machine)
            inboxes.append([.ready])
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
        var actions: [RunAction] = []
        machines[run].takeActions(into: &actions)
        while !actions.isEmpty {
            for action in actions { perform(action, run) }
            machines[run].takeActions(into: &actions)
        }
    }

    private func perform(_ action: RunAction, _ run: Int) {
        let machine = machines[run]
        switch action {
        case .read(let wishes):
            machine.take(.found(wishes.map { KnownRow($0.position, nil) }), at: moment)
        case .claim(let wishes):
            for position in wishes.map(\.position) {
                let isFree = occupied([position], run).isEmpty
                machine.take(
                    isFree ? .claimed([KnownRow(position, nil)]) : .occupied([position]),
                    at: moment)
            }
        case .claimSet(let number, let positions):
            let others = occupied(positions, run)
            machine.take(
                others.isEmpty ? .setClaimed(number, positions) : .setOccupied(number, others),
                at: moment)
        case .release(let position, let target, let end):
            guard claims[target]?.run == run, let claim = claims.removeValue(forKey: target)
            else {
                Issue.record("run \(run) let go what it does not have: \(position)")
                return
            }
            for waiter in claim.waiters {
                inboxes[waiter.run].append(.joined(waiter.position, end))
            }
        case .submit(let submissions):
            for submission in submissions { inboxes[run].append(answer(to: submission.position)) }
        case .promote(let position, let promotion):
            let stamp = promotion.record.stamp
            inboxes[run].append(.promoted(position, .promoted(promotion, stamp, conflict: nil)))
        case .promoteSet(let set):
            let files = set.promotions.map { member in
                let stamp = member.promotion.record.stamp
                return (
                    member.position,
                    PromotionResult.promoted(member.promotion, stamp, conflict: nil)
                )
            }
            let promoted = SetResult.Promoted(
                files: Dictionary(uniqueKeysWithValues: files), way: .rename)
            inboxes[run].append(.setEnded(set.number, .promoted(promoted)))
        case .confirm(let position, _): inboxes[run].append(.confirmed(position, nil))
        case .look(let position, _, _): inboxes[run].append(.confirmed(position, nil))
        case .remove(let position, _): inboxes[run].append(.removed(position, nil))
        case .cancel(let positions, _):
            for position in positions {
                inboxes[run].append(
                    .transfer(position, .ended(.cancelled(TransferCost(requests: 1)))))
            }
        case .tell, .name, .hurry, .discard, .pause, .resume, .abandonPromotions: break
        }
    }

    /// Takes the targets of steps, or none where others have one; returns the steps of those.
    private func occupied(_ positions: [Int], _ run: Int) -> [Int] {
        let targets = machines[run].plan.steps
        let others = positions.filter { (claims[targets.target(at: $0)]?.run ?? run) != run }
        for position in others {
            claims[targets.target(at: position)]?.waiters.append((run, position))
        }
        if others.isEmpty {
            for position in positions where claims[targets.target(at: position)] == nil {
                claims[targets.target(at: position)] = Claim(run: run, position: position)
            }
        }
        return others
    }

    private func answer(to position: Int) -> RunInput {
        if Int.random(in: 0..<20, using: &random) > 0, let received = try? RunRig.received() {
            return .transfer(position, received)
        }
        let lost = MirrorError(.connectionLost, "lost")
        return .transfer(position, .ended(.failed(lost, TransferCost(requests: 1))))
    }
}
