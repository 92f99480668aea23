import Testing

@testable import MirrorKit

/// A run's state machine over a plan of fetches and removals, with everything that it asked for.
struct RunRig {
    let machine: RunMachine
    /// What is still to be done, but for what was read and taken.
    var asked: [RunAction] = []
    var time: Int64 = 0
    /// Files that are gone when they are looked at.
    var lost: Set<String> = []
    /// Whether no row can be read.
    var isIndexBroken = false
    /// The most rows that were to be read at one time.
    private(set) var mostRead = 0
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
        machine = RunMachine(plan, rules: settings)
    }

    /// A run of a plan.
    init(_ plan: Plan, rules: RunRules = RunRules()) {
        targets = plan.steps.map(\.target)
        machine = RunMachine(plan, rules: rules)
    }

    /// Tells something, and that time goes by, as the thread of a run does; rows are not there, and
    /// targets are free unless they are named.
    mutating func tell(_ input: RunInput, occupied: Set<Int> = []) {
        act(on: input, occupied: occupied)
        act(on: .tick, occupied: occupied)
    }

    private mutating func act(on input: RunInput, occupied: Set<Int>) {
        machine.take(input, at: moment)
        var actions: [RunAction] = []
        machine.takeActions(into: &actions)
        while !actions.isEmpty {
            defer { machine.takeActions(into: &actions) }
            mostRead = max(
                mostRead,
                actions.reduce(0) { sum, action in
                    if case .read(let wishes) = action { sum + wishes.count } else { sum }
                })
            for action in actions {
                switch action {
                case .read(let wishes):
                    machine.take(.found(wishes.map { KnownRow($0.position, nil) }), at: moment)
                case .claim(let wishes):
                    let positions = wishes.map(\.position)
                    let free = positions.filter { !occupied.contains($0) }
                    let others = positions.filter(occupied.contains)
                    if isIndexBroken {
                        let error = MirrorError(.inputOutput, "the index cannot be read")
                        machine.take(.unreadable(free, error), at: moment)
                        continue
                    }
                    machine.take(.claimed(free.map { KnownRow($0, nil) }), at: moment)
                    machine.take(.occupied(others), at: moment)
                case .claimSet(let number, let positions):
                    let others = positions.filter(occupied.contains)
                    machine.take(
                        others.isEmpty
                            ? .setClaimed(number, positions) : .setOccupied(number, others),
                        at: moment)
                case .look(let position, let target, _):
                    let isLost = lost.contains(target.name)
                    machine.take(
                        .confirmed(
                            position, isLost ? .changedSincePlan(target, isGone: true) : nil),
                        at: moment)
                default: asked.append(action)
                }
            }
        }
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
        asked.flatMap { action -> [Int] in
            if case .submit(let submissions) = action { submissions.map(\.position) } else { [] }
        }
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
        asked.compactMap { if case .remove(let position, _) = $0 { position } else { nil } }
    }

    /// The steps whose targets were let go, and how.
    var released: [Int] {
        asked.compactMap { if case .release(let position, _, _) = $0 { position } else { nil } }
    }

    /// The numbers of the run.
    mutating func summary() -> Summary { machine.close(parts: [], at: time) }
}
