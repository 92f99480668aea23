@testable import MirrorKit
@testable import MirrorModel

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
    func address(of resource: Int, at host: Int, by other: Int? = nil) -> String {
        guard let other else { return hosts[host].origin + resources[resource].path }
        return hosts[other].origin + "/to/\(host)" + resources[resource].path
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
        to plan: RequestPlan, at host: SimulatedHost, mishap: SimulatedHost.Mishap?
    ) -> SimulatedAnswer {
        let isShared = host.sharesConnections && !plan.isLong
        switch mishap {
        case .serverError: return .empty(500, isShared: isShared)
        case .notFound: return .empty(404, isShared: isShared)
        case .comeBackLater:
            let seconds = String(chance.number(0...3))
            return .empty(503, [("Retry-After", seconds)], isShared: isShared)
        default: break
        }
        let parts = plan.url.path.split(separator: "/")
        if parts.first == "to", parts.count == 3, let number = Int(parts[1]) {
            let place = hosts[number].origin + "/" + parts[2]
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

/// Parts in memory, on a disk that may be full.
final class SimulatedParts: PartStore, @unchecked Sendable {
    // One thread uses it; see VirtualTime.
    private let scratch = ScratchPartStore()
    private(set) var records: [String: PartRecord] = [:]
    /// After so many parts there is no room for another one.
    var roomFor = Int.max
    private(set) var isOverfull = false

    func create(_ record: PartRecord) throws(MirrorError) -> PartFile {
        guard roomFor > 0 else {
            isOverfull = true
            throw MirrorError(.noSpace, "no space left in this simulation", target: record.target)
        }
        roomFor -= 1
        records[record.name] = record
        return try scratch.create(record)
    }

    func open(_ record: PartRecord) throws(MirrorError) -> PartFile? {
        records[record.name] == nil ? nil : try scratch.open(record)
    }

    func update(_ record: PartRecord) throws(MirrorError) {
        var record = record
        record.milestones = records[record.name]?.milestones ?? []
        record.extents = records[record.name]?.extents ?? []
        records[record.name] = record
    }

    func log(_ milestone: Milestone, from start: Int64, part name: String) throws(MirrorError) {
        guard var record = records[name] else { return }
        if start == 0 {
            record.milestones.append(milestone)
        } else if let at = record.extents.firstIndex(where: { $0.start == start }) {
            record.extents[at].milestones.append(milestone)
        } else {
            record.extents.append(Extent(start: start, milestones: [milestone]))
            record.extents.sort { $0.start < $1.start }
        }
        records[name] = record
    }

    func discard(part name: String) throws(MirrorError) {
        records[name] = nil
        try scratch.discard(part: name)
    }

    /// The bytes of a part.
    func bytes(_ name: String) throws -> [UInt8]? {
        guard let record = records[name], let file = try scratch.open(record) else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(try file.size()))
        let count = try bytes.withUnsafeMutableBytes { (buffer) throws(Errno) in
            try file.read(into: buffer, at: 0)
        }
        return count == bytes.count ? bytes : nil
    }

    /// The part of a target that a later run may go on with.
    func resumable(_ target: Target) -> PartRecord? {
        records.values.filter { $0.target == target && $0.identity != .anonymous }
            .max { ($0.resumableBytes, $0.name) < ($1.resumableBytes, $1.name) }
    }
}
