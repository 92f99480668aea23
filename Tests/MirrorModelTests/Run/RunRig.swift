import Testing

@testable import MirrorKit

/// What a run asked for.
enum RunCall {
    case tell(Event.Body)
    case submit(Int, keepsPart: Bool)
    case pause([Int])
    case resume([Int])
    case cancel([Int], discardingParts: Bool)
    case discard([String])
    case promote(Int, Promotion)
    case promoteSet(SetContents)
    case confirm(Int)
    case remove(Int)
    case release(Int)
    case hurry
    case abandonPromotions
}

/// Notes what a run asks for. No target has a row, and each is free unless it is `occupied`.
final class NotedSurroundings: RunSurroundings {
    var asked: [RunCall] = []
    /// Files that are gone when they are looked at.
    var lost: Set<String> = []
    /// Whether no row can be read.
    var isIndexBroken = false
    /// The most rows that were to be read at one time.
    private(set) var mostRead = 0
    /// The steps whose targets other runs have.
    var occupied: Set<Int> = []
    /// The steps whose targets no wait would free.
    var blocked: Set<Int> = []

    func tell(_ event: Event.Body, _ totals: RunTotals) { asked.append(.tell(event)) }

    let hasPlannedRows = false

    func rows(of targets: [Target]) throws(MirrorError) -> [IndexRecord?] {
        mostRead = max(mostRead, targets.count)
        if isIndexBroken { throw MirrorError(.inputOutput, "the index cannot be read") }
        return targets.map { _ in nil }
    }

    func claim(_ positions: [Int]) throws(MirrorError) -> [Int] {
        if positions.contains(where: blocked.contains) {
            throw MirrorError(.conflict, "an earlier run left it in the middle")
        }
        return positions.filter(occupied.contains)
    }

    /// Why the files of some steps have no room in Caches.
    var lacking: [Int: Reason] = [:]

    func lackOfRoom(forFileOf size: Int64, at position: Int) -> Reason? { lacking[position] }

    func change(of target: Target, since stamp: FileStamp) -> MirrorError? {
        lost.contains(target.name) ? .changedSincePlan(target, isGone: true) : nil
    }

    func name(_ body: ReceivedBody, of position: Int) throws(MirrorError) -> Target {
        throw MirrorError(.internalError, "no server names a file here")
    }

    func release(_ position: Int, _ end: Result<Event.Done, MirrorError>?) {
        asked.append(.release(position))
    }

    func submit(
        _ position: Int, _ step: Step, with others: [Int], storedMediaType: String?,
        keepsPart: Bool, isUrgent: Bool
    ) { asked.append(.submit(position, keepsPart: keepsPart)) }

    func pause(_ positions: [Int]) { asked.append(.pause(positions)) }
    func resume(_ positions: [Int]) { asked.append(.resume(positions)) }
    func cancel(_ positions: [Int], discardingParts: Bool) {
        asked.append(.cancel(positions, discardingParts: discardingParts))
    }
    func discard(parts: [String]) { asked.append(.discard(parts)) }
    func promote(_ position: Int, _ promotion: Promotion) {
        asked.append(.promote(position, promotion))
    }
    func promote(_ set: SetContents) { asked.append(.promoteSet(set)) }
    func confirm(_ position: Int, _ confirmed: Confirmed) { asked.append(.confirm(position)) }
    func remove(_ position: Int, _ removal: Removal) { asked.append(.remove(position)) }
    func hurry() { asked.append(.hurry) }
    func abandonPromotions() { asked.append(.abandonPromotions) }
}

/// A run's state machine over a plan of fetches and removals, with everything that it asked for.
struct RunRig {
    let machine: RunMachine
    let surroundings = NotedSurroundings()
    var asked: [RunCall] { surroundings.asked }
    var time: Int64 = 0
    let targets: [Target]

    /// A plan that fetches these targets of Caches, evicts others, and removes those orphans.
    ///
    /// A target without a size has none that is known; one that is evicted has 1 byte. Each has a source
    /// of its own, unless one is named. Files that make room without a resource are `strangers`.
    init(
        fetching names: [String], evicting evicted: [String] = [], strangers: [String] = [],
        removing orphans: [String] = [], kind: Step.Kind = .fetch,
        sizes: [String: Int64] = [:], from source: String? = nil, urgent: Set<String> = [],
        optional: Set<String> = [], isAtomic: Bool = false,
        _ rules: (inout RunRules) -> Void = { _ in }
    ) throws {
        targets = try (names + evicted).map { try Target("Caches/" + $0) }
        let resources = try targets.map {
            var resource = Resource(
                target: $0, url: try SourceURL("http://a.example/" + (source ?? $0.name)))
            resource.isUrgent = urgent.contains($0.name)
            resource.isOptional = optional.contains($0.name)
            return resource
        }
        var steps = targets.prefix(names.count).enumerated().map { number, target in
            Step(
                target: target, manifest: 0, resource: number, kind: kind, reason: .missing,
                means: .transfer(part: nil, ifChangedSince: nil), existing: .nothing,
                size: sizes[target.name])
        }
        let stamp = FileStamp(size: 1, modified: 1, changed: 1, inode: 1)
        let sha256 = try #require(Digest(.sha256, bytes: Array(repeating: 1, count: 32)))
        let quota = Reason.overQuota(of: 1, size: 1)
        for number in targets.indices.dropFirst(names.count) {
            steps.append(
                Step(
                    target: targets[number], manifest: 0, resource: number, kind: .evicted,
                    reason: quota, means: .removal, existing: .ours(stamp, sha256: sha256), size: 1)
            )
        }
        steps += try strangers.map { name in
            Step(
                target: try Target("Caches/" + name), manifest: 0, resource: nil, kind: .evicted,
                reason: quota, means: .removal, existing: .ours(stamp, sha256: sha256), size: 1)
        }
        steps += try orphans.map { name in
            Step(
                target: try Target("Caches/" + name), manifest: 0, resource: nil, kind: .remove,
                reason: .orphan(of: "m"), means: .removal,
                existing: .ours(stamp, sha256: sha256), size: 1)
        }
        var settings = RunRules()
        rules(&settings)
        var manifest = Manifest(name: "m", resources: resources)
        manifest.isAtomic = isAtomic
        var plan = Plan(
            root: "/r", manifests: [manifest], steps: steps,
            now: Instant(seconds: 0), orphansLeft: 0)
        plan.evictableFiles = evicted.count + strangers.count
        machine = RunMachine(plan, rules: settings, in: surroundings)
    }

    /// A run of a plan.
    init(_ plan: Plan, rules: RunRules = RunRules()) {
        targets = plan.steps.map(\.target)
        machine = RunMachine(plan, rules: rules, in: surroundings)
    }

    /// Tells something, and that time goes by, as the thread of a run does.
    mutating func tell(_ input: RunInput, occupied: Set<Int> = []) {
        surroundings.occupied = occupied
        machine.take(input, at: moment)
        repeat { machine.take(.tick, at: moment) } while machine.wait == 0 && !machine.isOver
    }

    private var moment: RunMoment { RunMoment(elapsed: time, time: Instant(seconds: 0)) }

    /// Has a transfer end with bytes.
    mutating func receive(_ position: Int) throws { tell(.transfer(position, try Self.received())) }

    /// Has a file promote that the machine asked to promote.
    mutating func promote(_ position: Int) {
        for case .promote(position, let promotion) in asked {
            return tell(
                .promoted(position, .promoted(promotion, promotion.record.stamp, conflict: nil)))
        }
    }

    /// The sets that were to be promoted.
    var promotingSets: [SetContents] {
        asked.compactMap { if case .promoteSet(let set) = $0 { set } else { nil } }
    }

    /// Has the last of them be promoted, but for files that fail and orphans that stay.
    mutating func promoteSet(
        failing: [Int: MirrorError] = [:], staying stayed: [Int: MirrorError] = [:]
    ) {
        guard let set = promotingSets.last else { return }
        var promoted: [Int: PromotionResult] = [:]
        for member in set.promotions {
            let promotion = member.promotion
            promoted[member.position] =
                failing[member.position].map { .failed($0) }
                ?? .promoted(promotion, promotion.record.stamp, conflict: nil)
        }
        tell(.setEnded(set.number, .promoted(.init(files: promoted, stayed: stayed, way: .rename))))
    }

    /// How the sets ended.
    var setEnds: [Event.SetEnd] {
        asked.compactMap { if case .tell(.set(let end)) = $0 { end } else { nil } }
    }

    /// A body of three bytes.
    static func received(
        _ content: Promotion.Content = .memory([1, 2, 3])
    ) throws -> TransferEvent {
        let key = SourceKey(text: "a")
        return .ended(
            .received(
                ReceivedBody(
                    content: content, size: 3,
                    sha256: try #require(Digest(.sha256, bytes: Array(repeating: 7, count: 32))),
                    otherDigest: nil, verified: .size,
                    answer: Answer(
                        provenance: Provenance(source: key, answeredBy: "http://a.example/f"),
                        validators: Validators(), source: "http://a.example/f"),
                    cost: TransferCost(requests: 1, bytesReceived: 3))))
    }

    /// The steps whose transfers were handed to the loop.
    var submitted: [Int] {
        asked.compactMap { if case .submit(let position, _) = $0 { position } else { nil } }
    }

    /// The steps whose transfers were to end.
    var cancelled: [Int] {
        asked.flatMap { action -> [Int] in
            if case .cancel(let positions, _) = action { positions } else { [] }
        }
    }

    /// The steps whose transfers were to pause, and those that were to go on.
    var paused: [Int] {
        asked.flatMap { action -> [Int] in
            if case .pause(let positions) = action { positions } else { [] }
        }
    }
    var resumed: [Int] {
        asked.flatMap { action -> [Int] in
            if case .resume(let positions) = action { positions } else { [] }
        }
    }

    /// The targets that were told to have ended well, and those that failed.
    var done: [String] { told { if case .done(let done) = $0 { done.target.name } else { nil } } }
    var failed: [String] {
        told { if case .failed(let failed) = $0 { failed.target.name } else { nil } }
    }

    /// The targets that the progress of downloads was told of.
    var progress: [String] {
        told { if case .progress(let now) = $0 { now.target.name } else { nil } }
    }

    /// Why the targets ended as they did.
    var reasons: [String: Reason] {
        var reasons: [String: Reason] = [:]
        for case .tell(.done(let done)) in asked { reasons[done.target.name] = done.reason }
        return reasons
    }

    private func told(_ name: (Event.Body) -> String?) -> [String] {
        asked.compactMap { if case .tell(let body) = $0 { name(body) } else { nil } }
    }

    /// The steps whose files were to be removed.
    var removing: [Int] {
        asked.compactMap { if case .remove(let position) = $0 { position } else { nil } }
    }

    /// The steps whose targets were let go, and how.
    var released: [Int] {
        asked.compactMap { if case .release(let position) = $0 { position } else { nil } }
    }

    /// The numbers of the run.
    mutating func summary() -> Summary { machine.close(parts: [], at: time) }
}
