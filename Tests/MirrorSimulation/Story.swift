@testable import MirrorKit

/// One simulation, made from a seed: what is asked for, of whom, and what comes in between.
final class Story {
    /// What is wanted, and what may become of it.
    struct Wish {
        let resource: Int
        /// The hosts that are asked.
        let hosts: [Int]
        let isPinned: Bool
        let declaresSize: Bool
        /// The hosts that lead to the first of them, in this order.
        let redirectedBy: [Int]
        /// What an earlier run left of it.
        let past: Past
    }

    /// What somebody does in the midst.
    enum Act {
        case pause(Int), resume(Int), cancel(Int, discardingPart: Bool)
        case pauseAll, resumeAll, interrupt, networkReturns
        /// Transfers that are not urgent may not run, and may again.
        case deny, permit
    }

    let chance: Chance
    let time: VirtualTime
    let world: World
    let wishes: [Wish]
    let acts: [(time: Int64, act: Act)]
    var configuration = Configuration()
    let slowness: Int64
    let roomForParts: Int
    /// The steps of the run, in their order.
    let roles: [(target: String, role: Role)]
    var rules = RunRules()
    /// Whether all that is wanted is promoted together, or not at all.
    let isAtomic: Bool
    /// Milliseconds until a message of another thread reaches the run, and for one batch of the disk.
    let hop: Int64
    let diskLatency: Int64
    /// After so many files there is no room for another one; one in so many others fails, 0 is none.
    let roomForPromotions: Int
    let diskFailsOneIn: Int64

    init(seed: UInt64, tellsStory: Bool = false) {
        let chance = Chance(seed: seed)
        let time = VirtualTime(tellsStory: tellsStory)
        // No draw of its own, so that it changes no other story.
        isAtomic = seed % 7 == 3
        self.chance = chance
        self.time = time
        let isLarge = chance.oneIn(30)
        let hosts = (0..<Int(chance.number(1...8))).map { Story.host($0, chance) }
        let resources = (0..<Int(chance.number(1...(isLarge ? 3 : 24)))).map {
            Story.resource($0, chance, isLarge: isLarge)
        }
        world = World(time, chance, hosts: hosts, resources: resources)
        wishes = resources.map { resource in
            let count = chance.pick([1, 1, 1, 2, 3])
            var asked: [Int] = []
            for _ in 0..<count {
                let host = Int(chance.number(0...Int64(hosts.count) - 1))
                if !asked.contains(host) { asked.append(host) }
            }
            let isPinned = chance.oneIn(2)
            return Wish(
                resource: resource.number, hosts: asked, isPinned: isPinned,
                declaresSize: chance.oneIn(2),
                redirectedBy: (0..<chance.pick([0, 0, 0, 0, 0, 0, 1, 2])).map { _ in
                    Int(chance.number(0...Int64(hosts.count) - 1))
                },
                past: Story.past(chance, of: resource, isPinned: isPinned))
        }
        acts = Story.acts(chance, jobs: resources.count)
        slowness = chance.pick([0, 3, 3, 40, 700])
        roomForParts = chance.oneIn(25) ? Int(chance.number(0...2)) : .max
        configuration.jobs = Int(chance.pick([1, 2, 3, 5, 8, 16, 128]))
        configuration.perHost = chance.pick([nil, nil, 1, 2, 4, 8])
        configuration.segments = chance.pick([nil, nil, 1, 3])
        configuration.limitRate =
            chance.oneIn(10) ? RateLimit(Int64(chance.number(20_000...2_000_000))) : nil
        configuration.maxTransfer = chance.oneIn(30) ? chance.number(1...1_000_000) : nil
        configuration.transfer.retries = Int(chance.pick([0, 1, 3, 7, 7]))
        configuration.transfer.maxWait = .seconds(chance.pick([2, 30, 300]))
        configuration.transfer.stallTimeout = .seconds(chance.pick([2, 10, 30]))
        roles = Story.roles(chance, wishes: wishes.count)
        hop = chance.pick([0, 0, 1, 5])
        diskLatency = chance.pick([0, 1, 30, 400, 3000])
        roomForPromotions = chance.oneIn(25) ? Int(chance.number(0...6)) : .max
        diskFailsOneIn = chance.oneIn(15) ? chance.number(2...8) : 0
        rules.window = Int(chance.pick([16, 64, 1024]))
        rules.deadline = chance.oneIn(12) ? chance.number(0...20) : nil
        rules.stopsAtFirstFailure = chance.oneIn(15)
        rules.isOffline = chance.oneIn(80)
        rules.onConflict = chance.oneIn(10) ? .keep : .rename
    }

    /// Whether nothing outside of the sources can keep the run from doing all that is wanted.
    var isUndisturbed: Bool {
        acts.isEmpty && configuration.maxTransfer == nil && roomForParts == .max
            && roomForPromotions == .max && diskFailsOneIn == 0 && rules.deadline == nil
            && !rules.stopsAtFirstFailure && !rules.isOffline && rules.onConflict == .rename
    }

    private static func host(_ number: Int, _ chance: Chance) -> SimulatedHost {
        let character: SimulatedHost.Character =
            switch chance.number(1...20) {
            case 1: .silent
            case 2: .blackHole
            case 3: .refusing
            case 4: .nameless
            case 5, 6:
                .away(from: chance.number(0...3000), until: chance.number(3000...20_000))
            case 7: .dripping
            case 8, 9: .crowded(most: Int(chance.number(1...4)))
            case 10...13: .flaky(oneIn: chance.pick([2, 4, 20]))
            default: .healthy
            }
        let isSecure = chance.oneIn(2)
        var host = SimulatedHost(
            name: "h\(number)", isSecure: isSecure, character: character,
            roundTrip: chance.pick([0, 1, 20, 100, 300]), rate: chance.pick([20, 200, 5000]),
            sharesConnections: isSecure && chance.oneIn(2))
        host.isMixed = host.sharesConnections && chance.oneIn(3)
        return host
    }

    private static func resource(
        _ number: Int, _ chance: Chance, isLarge: Bool
    ) -> SimulatedResource {
        let size =
            isLarge
            ? chance.number(2_000_000...9_000_000)
            : chance.pick([
                chance.number(0...4096), chance.number(0...20_000), chance.number(60_000...200_000),
            ])
        let changes = chance.oneIn(5) ? [chance.number(0...5000)] : []
        return SimulatedResource(number: number, size: Int(size), changes: changes)
    }

    private static func acts(_ chance: Chance, jobs: Int) -> [(time: Int64, act: Act)] {
        guard chance.oneIn(3) else { return [] }
        var acts: [(time: Int64, act: Act)] = []
        for _ in 0..<chance.number(1...4) {
            let time = chance.number(0...8000)
            let job = Int(chance.number(0...Int64(jobs) - 1))
            switch chance.number(1...7) {
            case 1, 2:
                acts.append((time, .pause(job)))
                acts.append((time + chance.number(1...60_000), .resume(job)))
            case 3:
                acts.append((time, .pauseAll))
                acts.append((time + chance.number(1...60_000), .resumeAll))
            case 4: acts.append((time, .cancel(job, discardingPart: chance.oneIn(2))))
            case 5: acts.append((time, .networkReturns))
            case 6:
                acts.append((time, .deny))
                acts.append((time + chance.number(1...60_000), .permit))
            default: if chance.oneIn(3) { acts.append((time, .interrupt)) }
            }
        }
        return acts.sorted { $0.time < $1.time }
    }

    /// Whether nothing stands in the way of a wish.
    func mustBeGranted(_ number: Int) -> Bool {
        let wish = wishes[number]
        let asked = wish.hosts + wish.redirectedBy
        // From https to http no redirect is followed.
        let way = wish.redirectedBy + wish.hosts.prefix(1)
        let isDowngrade = zip(way, way.dropFirst()).contains {
            world.hosts[$0].isSecure && !world.hosts[$1].isSecure
        }
        return asked.allSatisfy { world.hosts[$0].isHealthy } && !isDowngrade
            && world.resources[wish.resource].changes.isEmpty && isUndisturbed
    }
}
