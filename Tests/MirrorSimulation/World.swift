@testable import MirrorKit

/// The hosts and resources of one simulation.
final class World {
    let time: VirtualTime
    private let chance: Chance
    let hosts: [SimulatedHost]
    let resources: [SimulatedResource]
    private let numbers: [String: Int]
    /// Milliseconds until libcurl gives a connection up.
    let connectTimeout: Int64 = 15_000

    init(
        _ time: VirtualTime, _ chance: Chance, hosts: [SimulatedHost],
        resources: [SimulatedResource]
    ) {
        self.time = time
        self.chance = chance
        self.hosts = hosts
        self.resources = resources
        numbers = Dictionary(
            uniqueKeysWithValues: hosts.enumerated().map {
                ("\($0.element.name).example", $0.offset)
            })
    }

    func host(of url: SourceURL) -> Int? { numbers[url.host] }

    /// Where a host has a resource; some of them send whoever asks to another host first.
    func address(of resource: Int, at host: Int, by others: [Int] = []) -> String {
        let way = others + [host]
        let rest = way.dropFirst().map { "/to/\($0)" }.joined()
        return hosts[way[0]].origin + rest + resources[resource].path
    }

    /// What goes wrong with the next answer of a host.
    func mishap(at host: Int, running: Int) -> SimulatedHost.Mishap? {
        switch hosts[host].character {
        case .flaky(let count):
            chance.oneIn(count) ? chance.pick(SimulatedHost.Mishap.allCases) : nil
        case .crowded(let most): running > most ? .comeBackLater : nil
        case .healthy, .silent, .blackHole, .refusing, .nameless, .away, .dripping: nil
        }
    }

    /// What a host answers to a request.
    func answer(
        to plan: RequestPlan, at host: SimulatedHost, isShared: Bool,
        mishap: SimulatedHost.Mishap?
    ) -> SimulatedAnswer {
        switch mishap {
        case .serverError: return .empty(500, isShared: isShared)
        case .notFound: return .empty(404, isShared: isShared)
        case .comeBackLater:
            let seconds = String(chance.number(0...3))
            return .empty(503, [("Retry-After", seconds)], isShared: isShared)
        default: break
        }
        let parts = plan.url.path.split(separator: "/")
        if parts.first == "to", parts.count > 2, let number = Int(parts[1]) {
            let place = hosts[number].origin + parts[2...].map { "/" + $0 }.joined()
            return .empty(302, [("Location", place)], isShared: isShared)
        }
        guard let name = parts.first, let number = Int(name.dropFirst()) else {
            return .empty(404, isShared: isShared)
        }
        let resource = resources[number]
        var version = resource.version(at: time.now)
        if mishap == .otherVersion { version = min(version + 1, resource.changes.count) }
        var answer = SimulatedAnswer.right(
            plan, resource, version: version, mishap: mishap, isShared: isShared)
        if let mishap { answer.spoil(mishap, chance) }
        return answer
    }
}
