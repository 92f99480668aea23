internal import MirrorModel

/// One request is made once, however many targets want its answer.
///
/// Steps that would ask the same thing in the same way (method, URL, headers, body, condition) and
/// whose declarations do not contradict each other form a group; its first step asks, and the others
/// take the bytes from the first one's target.
struct RequestSharing {
    private struct Key: Hashable {
        let url: SourceURL
        let method: RequestMethod
        let headers: [HeaderField]
        let knownVersion: Digest?
    }

    /// For each step that asks: the steps that wait for it, as positions in the plan.
    private(set) var followers: [Int: [Int]] = [:]
    /// The steps that ask, in the order of the plan.
    private(set) var leaders: [Int] = []

    init(_ plan: Plan) {
        var groups: [Key: [Int]] = [:]
        for (position, step) in plan.steps.enumerated() {
            guard step.needsNetwork, let resource = plan.resource(of: step) else { continue }
            let source = resource.primary
            let key = Key(
                url: source.url, method: resource.method, headers: source.headers,
                knownVersion: step.local?.sha256)
            let leader = groups[key, default: []].first { other in
                plan.resource(of: plan.steps[other]).map { isCompatible($0, resource) } ?? false
            }
            if let leader, !resource.isNamedByServer {
                followers[leader, default: []].append(position)
            } else {
                leaders.append(position)
                groups[key, default: []].append(position)
            }
        }
    }

    /// The first one's declarations must cover the other's, so that its bytes are right for both.
    private func isCompatible(_ leader: Resource, _ other: Resource) -> Bool {
        !leader.isNamedByServer && leader.digests == other.digests && leader.size == other.size
            && leader.mediaType == other.mediaType && leader.pieces == other.pieces
    }
}
