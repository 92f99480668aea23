/// The downloads of a plan: one for each request, however many targets want its response.
///
/// Steps that would send the same request (method, URL, headers, body, condition) have one download
/// if their declarations do not contradict each other, and if all or none belong to one set.
/// The position of one of these steps is the number of the download. Hashes of the requests find
/// the candidates first: nearly every step of a long plan has its own download.
struct PlannedDownloads: Sendable {
    /// The numbers of the downloads, in the order of the plan.
    private(set) var numbers: [Int] = []
    /// The further steps of the downloads that bring several targets, by the downloads' numbers.
    private var others: [Int: [Int]] = [:]
    /// The numbers of the downloads of these further steps.
    private var numbersOfOthers: [Int: Int] = [:]

    init(_ plan: Plan, _ sets: AtomicSets) {
        var known = RepeatedHashes(expecting: 0)
        for position in plan.steps.notable {
            guard let hash = Self.hash(ofStepAt: position, in: plan) else { continue }
            numbers.append(position)
            known.insert(UInt64(bitPattern: Int64(hash)))
        }
        known.find()
        if known.repeated.isEmpty { return }
        var asking: [(hash: Int, position: Int)] = []
        for position in numbers {
            guard let hash = Self.hash(ofStepAt: position, in: plan),
                known.contains(UInt64(bitPattern: Int64(hash)))
            else { continue }
            asking.append((hash, position))
        }
        asking.sort { ($0.hash, $0.position) < ($1.hash, $1.position) }
        var start = 0
        while start < asking.count {
            var end = start + 1
            while end < asking.count, asking[end].hash == asking[start].hash { end += 1 }
            if end - start > 1 { join(asking[start..<end].map(\.position), of: plan, sets) }
            start = end
        }
        numbers.removeAll { numbersOfOthers[$0] != nil }
    }

    /// Whether a download brings more than one target.
    var haveFurtherSteps: Bool { !others.isEmpty }

    /// The steps that do not give their download its number.
    var furtherSteps: some Sequence<Int> { numbersOfOthers.keys }

    /// Returns the steps whose targets a download brings. The first one has the download's number.
    func steps(of number: Int) -> [Int] { [number] + (others[number] ?? []) }

    /// Returns the number of a step's download.
    func number(of step: Int) -> Int { numbersOfOthers[step] ?? step }

    /// Returns a hash of a step's request. Returns nil if the step makes no request.
    private static func hash(ofStepAt position: Int, in plan: Plan) -> Int? {
        guard let (manifest, resource) = plan.steps.request(at: position) else { return nil }
        return plan.manifests[manifest].resources.requestHash(at: resource)
    }

    /// Finds the downloads for steps whose requests have one hash.
    private mutating func join(
        _ positions: [Int], of plan: Plan, _ sets: AtomicSets
    ) {
        var asking: [Asking] = []
        for position in positions {
            let step = plan.steps[position]
            guard let resource = plan.resource(of: step) else { continue }
            asking.append(Asking(position, step, resource, sets.set(of: position, in: plan)))
        }
        // The first step gives its download the number, and so the turn and the part to resume.
        asking.sort { $0.comesBefore($1) }
        var first: [Asking] = []
        for step in asking {
            if let download = first.first(where: { $0.isServed(with: step) }) {
                others[download.position, default: []].append(step.position)
                numbersOfOthers[step.position] = download.position
            } else {
                first.append(step)
            }
        }
    }

    /// A step that needs a download.
    private struct Asking {
        let position: Int
        let step: Step
        let resource: Resource
        let set: Int?

        init(_ position: Int, _ step: Step, _ resource: Resource, _ set: Int?) {
            (self.position, self.step, self.resource, self.set) = (position, step, resource, set)
        }

        func comesBefore(_ other: Asking) -> Bool {
            if resource.priority != other.resource.priority {
                return resource.priority > other.resource.priority
            }
            if (step.part != nil) != (other.step.part != nil) { return step.part != nil }
            return position < other.position
        }

        /// Whether the bytes of one download are right for both steps.
        func isServed(with other: Asking) -> Bool {
            set == other.set && !resource.isNamedByServer && !other.resource.isNamedByServer
                && resource.primary == other.resource.primary
                && resource.method == other.resource.method
                && step.local?.sha256 == other.step.local?.sha256
                && resource.digests == other.resource.digests
                && resource.size == other.resource.size
                && resource.mediaType == other.resource.mediaType
                && resource.pieces == other.resource.pieces
                && refusesPages == other.refusesPages
                && (hasSameSources(as: other) || canUseSources(of: other))
        }

        private func hasSameSources(as other: Asking) -> Bool {
            resource.sources == other.resource.sources
        }

        /// Whether a mirror that only one of two resources names may give the bytes of both.
        ///
        /// Only a digest proves that the bytes are the same. An offline run reads files only, and
        /// must know by the resource alone whether all of its sources are files.
        private func canUseSources(of other: Asking) -> Bool {
            resource.pin != nil
                && !(resource.sources + other.resource.sources).contains { $0.url.scheme == .file }
        }

        /// Whether mirror refuses an HTML page in the resource's place, judged by its target alone.
        private var refusesPages: Bool {
            Expectation(of: resource, replacing: nil).refusesHTML
        }
    }
}
