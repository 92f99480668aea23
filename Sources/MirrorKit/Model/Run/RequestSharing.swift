/// Makes each request once, however many targets want its response.
///
/// Steps that would send the same request (method, URL, headers, body, condition) form a group, if
/// their declarations do not contradict each other, and if all or none belong to one set. The first step of a group sends the request,
/// and the others take the bytes from its target. Hashes of the requests find the candidates first:
/// nearly every step of a long plan has its own request.
struct RequestSharing: Sendable {
    /// The steps that wait for another step's request, by that step; as positions in the plan.
    private(set) var followers: [Int: [Int]] = [:]
    /// The steps that send a request, in the order of the plan.
    private(set) var leaders: [Int] = []

    init(_ plan: Plan, _ sets: AtomicSets) {
        var known = RepeatedHashes(expecting: 0)
        for position in plan.steps.notable {
            guard let hash = RequestSharing.hash(ofStepAt: position, in: plan) else {
                continue
            }
            leaders.append(position)
            known.insert(UInt64(bitPattern: Int64(hash)))
        }
        known.find()
        if known.repeated.isEmpty { return }
        var asking: [(hash: Int, position: Int)] = []
        for position in leaders {
            guard let hash = RequestSharing.hash(ofStepAt: position, in: plan),
                known.contains(UInt64(bitPattern: Int64(hash)))
            else { continue }
            asking.append((hash, position))
        }
        asking.sort { ($0.hash, $0.position) < ($1.hash, $1.position) }
        var waiting = PositionSet()
        var start = 0
        while start < asking.count {
            var end = start + 1
            while end < asking.count, asking[end].hash == asking[start].hash { end += 1 }
            if end - start > 1 {
                share(asking[start..<end].map(\.position), of: plan, sets, waiting: &waiting)
            }
            start = end
        }
        leaders.removeAll { waiting.contains($0) }
    }

    /// Makes `follower` wait for the request of `other` instead of that of `leader`.
    ///
    /// If `other` is nil, the follower sends its own request.
    mutating func follow(_ other: Int?, by follower: Int, insteadOf leader: Int) {
        followers[leader]?.removeAll { $0 == follower }
        if let other { followers[other, default: []].append(follower) }
    }

    /// Returns a hash of a step's request. Returns nil if the step makes no request.
    private static func hash(ofStepAt position: Int, in plan: Plan) -> Int? {
        guard let (manifest, resource) = plan.steps.request(at: position) else { return nil }
        return plan.manifests[manifest].resources.requestHash(at: resource)
    }

    private mutating func share(
        _ positions: [Int], of plan: Plan, _ sets: AtomicSets, waiting: inout PositionSet
    ) {
        var asking: [(position: Int, step: Step, resource: Resource)] = []
        for position in positions {
            let step = plan.steps[position]
            guard let resource = plan.resource(of: step) else { continue }
            let set = sets.set(of: position, in: plan)
            let leader = asking.first {
                isSame($0, (position, step, resource))
                    && sets.set(of: $0.position, in: plan) == set
            }
            if let leader, !resource.isNamedByServer {
                followers[leader.position, default: []].append(position)
                waiting.insert(CollectionOfOne(position))
            } else {
                asking.append((position, step, resource))
            }
        }
    }

    private typealias Asking = (position: Int, step: Step, resource: Resource)

    private func isSame(_ leader: Asking, _ other: Asking) -> Bool {
        leader.resource.primary == other.resource.primary
            && leader.resource.method == other.resource.method
            && leader.step.local?.sha256 == other.step.local?.sha256
            && isCompatible(leader.resource, other.resource)
    }

    /// Whether the leader's declarations match the other's, so that its bytes are right for both.
    private func isCompatible(_ leader: Resource, _ other: Resource) -> Bool {
        !leader.isNamedByServer && leader.digests == other.digests && leader.size == other.size
            && leader.mediaType == other.mediaType && leader.pieces == other.pieces
            && refusesPages(leader) == refusesPages(other)
    }

    /// Whether mirror refuses an HTML page in the resource's place, judged by its target alone.
    private func refusesPages(_ resource: Resource) -> Bool {
        Expectation(of: resource, replacing: nil).refusesHTML
    }
}
