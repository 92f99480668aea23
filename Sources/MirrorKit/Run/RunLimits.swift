internal import Synchronization

/// The limits that a plan must not exceed, checked before its first request.
struct RunLimits {
    let plan: Plan
    let options: RunOptions
    let configuration: Configuration
    /// Why the run fetches only urgent resources when it begins. `nil` if it fetches all.
    let deferral: Deferral?
    /// `demands`: the bytes that the plan writes to each file system. `freed`: what its evictions
    /// free there.
    private var demands: [SpaceDemand] = []
    private var freed: [Int64] = []
    /// The position in `demands` of the file system that has each area.
    private var volumes: [Area: Int] = [:]

    init(_ execution: Execution, deferral: Deferral?) {
        plan = execution.plan
        options = execution.options
        configuration = execution.configuration
        self.deferral = deferral
    }

    /// Returns whether the plan's bytes fit only after its evictions.
    ///
    /// Throws `deleteLimit` or `spaceLimit`.
    mutating func needsEvictions(in root: RootDirectory) throws(MirrorError) -> Bool {
        try checkRemovals()
        try checkEvictions()
        return try checkSpace(root)
    }

    private func checkRemovals() throws(MirrorError) {
        var removals: [Int: Int] = [:]
        for position in plan.steps.notable
        where plan.steps.isRemoval(at: position) && !plan.steps.isEviction(at: position) {
            removals[plan.steps[position].manifest, default: 0] += 1
        }
        for (position, count) in removals.sorted(by: { $0.key < $1.key }) {
            let manifest = plan.manifests[position]
            let owned = plan.owned[manifest.owner] ?? count
            let isAllowed = options.maxDelete.allows(
                removals: count, owned: owned, resources: manifest.resources.count)
            guard !isAllowed else { continue }
            throw MirrorError(
                .deleteLimit,
                "\(manifest.owner): \(count) of its \(Counted(owned, "file")) would be removed, which is more than the limit allows. Nothing was changed.",
                remedy: Remedy(.allowRemovals, "\(count)")
            )
        }
    }

    private func checkEvictions() throws(MirrorError) {
        let held = plan.evictableFiles
        let count = plan.steps.notable.count { plan.steps.isEviction(at: $0) }
        guard !options.maxDelete.allows(removals: count, owned: held, resources: held) else {
            return
        }
        throw MirrorError(
            .deleteLimit,
            "\(plan.root): \(count) of \(Counted(held, "file")) in Caches and tmp would be removed for room, which is more than the limit allows. Nothing was changed.",
            remedy: Remedy(.allowRemovals, "\(count)"))
    }

    private mutating func checkSpace(_ root: RootDirectory) throws(MirrorError) -> Bool {
        let all: [Volume]
        do throws(Errno) { all = try Volume.all(of: root) } catch { throw MirrorError(error) }
        demands = all.map { _ in SpaceDemand() }
        freed = all.map { _ in 0 }
        for area in Area.allCases {
            volumes[area] = all.firstIndex { $0.areas.contains(area) }
        }
        let plan = plan
        let sets = options.offline ? AtomicSets(plan) : nil
        let postponed = postponedSteps()
        for position in plan.steps.notable {
            if isLeftForLater(position, sets, postponed) { continue }
            if let fetch = plan.steps.plainFetch(at: position) {
                need(
                    fetch.size, in: plan.steps.area(ofResource: fetch.resource, in: fetch.manifest),
                    for: plan.steps.target(at: position), isFetched: true)
                continue
            }
            let step = plan.steps[position]
            let bytes: Int64?
            switch step.means {
            case .transfer: bytes = step.expectedBytes
            case .copy: bytes = step.size ?? 0
            case .removal where step.kind == .evicted:
                if let volume = volumes[step.target.area] { freed[volume] += step.size ?? 0 }
                continue
            case .nothing, .adoption, .move, .removal: continue
            }
            need(
                bytes, in: step.target.area, for: step.target, isFetched: step.needsNetwork)
        }
        let least = configuration.minFree
        var needsEvictions = false
        for (number, volume) in all.enumerated() {
            let demand = demands[number]
            let refusal = { (freed: Int64) in
                demand.refusal(
                    at: volume.path(in: root),
                    available: volume.availableBytes.addingSaturated(freed), least: least)
            }
            if refusal(0) == nil { continue }
            // Even after the evictions the bytes do not fit.
            if let refusal = refusal(freed[number]) { throw refusal }
            needsEvictions = true
        }
        return needsEvictions
    }

    private mutating func need(
        _ bytes: Int64?, in area: Area, for target: @autoclosure () -> Target, isFetched: Bool
    ) {
        guard let volume = volumes[area] else { return }
        demands[volume].add(bytes, for: target())
        // A part lies in tmp. If the file's area is on another file system, the file needs space in
        // both.
        if isFetched, let tmp = volumes[.tmp], tmp != volume {
            demands[tmp].passThrough(bytes, for: target())
        }
    }

    /// Whether this run does not fetch a step's file, so that the file needs no space.
    private func isLeftForLater(
        _ position: Int, _ sets: AtomicSets?, _ postponed: PositionSet
    ) -> Bool {
        if postponed.contains(position) { return true }
        guard let sets, plan.steps.request(at: position) != nil else { return false }
        return !plan.beginsOffline(position, sets)
    }

    /// The steps whose requests are postponed when the run begins.
    private func postponedSteps() -> PositionSet {
        var postponed = PositionSet()
        if deferral == nil, options.paused.isEmpty { return postponed }
        let sharing = RequestSharing(plan, AtomicSets(plan))
        for leader in sharing.leaders {
            let group = [leader] + (sharing.followers[leader] ?? [])
            if plan.deferral(of: group, deferral, aside: options.paused) != nil {
                postponed.insert(group)
            }
        }
        return postponed
    }
}

/// Admits bodies whose size the manifest does not declare, as long as they fit on the disk.
///
/// A question to the file system costs as much as the receipt of a small file. So its answer is
/// used again for a while, less the bytes admitted since, while plenty of space is left. A refusal
/// always follows a new question.
final class FreeSpaceCheck: Sendable {
    /// Milliseconds for which an answer of the file system is used again.
    private static let validity: Int64 = 250
    /// If fewer free bytes than this would remain, each body needs a new answer of the file system.
    private static let plenty: Int64 = 256 << 20

    private let root: RootDirectory
    private let leastFreeSpace: Int64
    /// `volumes`: the last answer. `admitted`: the bytes admitted since. `end`: when the answer
    /// expires.
    ///
    /// `end` is in milliseconds of the monotonic clock.
    private let known = Mutex<(volumes: [Volume], admitted: [String: Int64], end: Int64)?>(nil)

    init(_ root: RootDirectory, leastFreeSpace: Int64) {
        self.root = root
        self.leastFreeSpace = leastFreeSpace
    }

    /// Admits bytes of a target if they fit. Returns an error if they do not fit.
    ///
    /// The bytes must fit on the file system of the part and on that of the file.
    func admit(_ bytes: Int64, for target: Target) -> MirrorError? {
        let needed = bytes.addingSaturated(leastFreeSpace)
        let now = SystemClock.monotonic()
        return known.withLock { known in
            if let (all, admitted, end) = known, now < end {
                let volumes = all.filter { $0.isWritten(by: target.area) }
                let enough = needed.addingSaturated(Self.plenty)
                let isPlenty = volumes.allSatisfy {
                    $0.availableBytes - (admitted[$0.place] ?? 0) >= enough
                }
                if isPlenty {
                    for volume in volumes {
                        known?.admitted[volume.place] = bytes.addingSaturated(
                            admitted[volume.place] ?? 0)
                    }
                    return nil
                }
            }
            guard let all = try? Volume.all(of: root) else { return nil }
            let volumes = all.filter { $0.isWritten(by: target.area) }
            var demand = SpaceDemand()
            demand.add(bytes, for: target)
            for volume in volumes {
                let refusal = demand.refusal(
                    at: volume.path(in: root), available: volume.availableBytes,
                    least: leastFreeSpace)
                if let refusal { return refusal }
            }
            let admitted = volumes.map { ($0.place, bytes) }
            known = (
                all, Dictionary(admitted, uniquingKeysWith: max), now + Self.validity
            )
            return nil
        }
    }
}
