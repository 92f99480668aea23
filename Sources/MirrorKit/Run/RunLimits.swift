internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem
internal import Synchronization

/// The limits that a plan must not exceed, checked before its first request.
struct RunLimits {
    let plan: Plan
    let options: RunOptions
    let configuration: Configuration
    /// What the run does not fetch, as it begins.
    let withheld: Withholding

    /// Whether the plan's bytes fit now, or only after its evictions.
    enum Room { case now, afterEvictions }

    /// Throws `deleteLimit` or `spaceLimit`.
    func check(_ root: RootDirectory) throws(MirrorError) -> Room {
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
            let isAllowed = options.deleteLimit.allows(
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
        guard !options.deleteLimit.allows(removals: count, owned: held, resources: held) else {
            return
        }
        throw MirrorError(
            .deleteLimit,
            "\(plan.root): \(count) of \(Counted(held, "file")) in Caches and tmp would be removed for room, which is more than the limit allows. Nothing was changed.",
            remedy: Remedy(.allowRemovals, "\(count)"))
    }

    private func checkSpace(_ root: RootDirectory) throws(MirrorError) -> Room {
        let space: FreeSpace
        do throws(Errno) { space = try FreeSpace(of: root) } catch { throw MirrorError(error) }
        var needs = Needs(on: space)
        let sets = options.isOffline ? AtomicSets(plan) : nil
        let postponed = postponedSteps()
        for position in plan.steps.notable {
            if isLeftForLater(position, sets, postponed) { continue }
            if let fetch = plan.steps.plainFetch(at: position) {
                needs.add(
                    fetch.size, in: plan.steps.area(of: fetch),
                    for: plan.steps.target(at: position), isFetched: true)
                continue
            }
            let step = plan.steps[position]
            let bytes: Int64?
            switch (step.means, step.expectedBytes) {
            case (.transfer, .none): continue
            case (.transfer, .known(let expected)): bytes = expected
            case (.transfer, .unknown): bytes = nil
            case (.copy, _): bytes = step.size ?? 0
            case (.removal, _) where step.kind == .evicted:
                needs.free(step.size ?? 0, in: step.target.area)
                continue
            case (.nothing, _), (.adoption, _), (.move, _), (.removal, _): continue
            }
            needs.add(
                bytes, in: step.target.area, for: step.target, isFetched: step.needsNetwork)
        }
        return try needs.room(
            on: space, in: root, least: configuration.leastFreeSpace)
    }

    /// Whether this run does not fetch a step's file, so that it takes no room.
    private func isLeftForLater(
        _ position: Int, _ sets: AtomicSets?, _ postponed: PositionSet
    ) -> Bool {
        if postponed.contains(position) { return true }
        guard let sets, plan.steps.request(at: position) != nil else { return false }
        return !plan.beginsOffline(position, sets)
    }

    /// The steps whose requests are not made as the run begins.
    private func postponedSteps() -> PositionSet {
        var postponed = PositionSet()
        if withheld.isEmpty { return postponed }
        let sharing = RequestSharing(plan)
        for leader in sharing.leaders {
            let group = [leader] + (sharing.followers[leader] ?? [])
            if withheld.deferral(of: group, in: plan) != nil { postponed.insert(group) }
        }
        return postponed
    }
}

/// The bytes that a plan writes to each file system, and those that its evictions free there.
private struct Needs {
    private(set) var demands: [SpaceDemand]
    private(set) var freed: [Int64]
    /// Which of the file systems each area lies on.
    private let documents: Int?
    private let caches: Int?
    private let tmp: Int?

    init(on space: FreeSpace) {
        demands = space.volumes.map { _ in SpaceDemand() }
        freed = space.volumes.map { _ in 0 }
        let number = { (area: Area) in
            space.volume(of: area).flatMap { volume in
                space.volumes.firstIndex { $0.place == volume.place }
            }
        }
        documents = number(.documents)
        caches = number(.caches)
        tmp = number(.tmp)
    }

    private func volume(of area: Area) -> Int? {
        switch area {
        case .documents: documents
        case .caches: caches
        case .tmp: tmp
        }
    }

    mutating func add(
        _ bytes: Int64?, in area: Area, for target: @autoclosure () -> Target, isFetched: Bool
    ) {
        guard let volume = volume(of: area) else { return }
        demands[volume].add(bytes, for: target())
        // A part lies in tmp. On another file system, the file takes up space once more in its
        // area.
        if isFetched, let tmp, tmp != volume { demands[tmp].passThrough(bytes, for: target()) }
    }

    mutating func free(_ bytes: Int64, in area: Area) {
        if let volume = volume(of: area) { freed[volume] += bytes }
    }

    /// When there is room for all of it. Throws `spaceLimit` where evictions do not make enough.
    func room(
        on space: FreeSpace, in root: RootDirectory, least: Int64
    ) throws(MirrorError) -> RunLimits.Room {
        var room = RunLimits.Room.now
        for (number, volume) in space.volumes.enumerated() {
            let demand = demands[number]
            let refusal = { (freed: Int64) in
                demand.refusal(
                    at: volume.path(in: root),
                    available: volume.availableBytes.addingSaturated(freed),
                    least: least)
            }
            if refusal(0) == nil { continue }
            if let refusal = refusal(freed[number]) { throw refusal }
            room = .afterEvictions
        }
        return room
    }
}

/// Admits bodies whose size the manifest does not declare, as long as they fit.
///
/// A question to the file system costs as much as the receipt of a small file. So its answer stays
/// valid for a while, less the bytes admitted since, and as long as plenty is left. A refusal
/// always follows a new look.
final class SpaceGate: Sendable {
    /// The number of milliseconds for which a look stays valid.
    private static let validity: Int64 = 250
    /// If fewer bytes than this are left beyond the needed ones, each body gets a look of its own.
    private static let plenty: Int64 = 256 << 20

    private struct Look {
        var space: FreeSpace
        /// The bytes admitted since the look, by file system.
        var admitted: [String: Int64] = [:]
        /// When the look stops being valid, in milliseconds of the monotonic clock.
        var endsAt: Int64

        /// The bytes left on a file system, by the look and the admissions since.
        func bytes(on volume: FreeSpace.Volume) -> Int64 {
            volume.availableBytes - (admitted[volume.place] ?? 0)
        }

        /// Admits a body.
        mutating func admit(_ bytes: Int64, on volumes: [FreeSpace.Volume]) {
            for volume in volumes {
                admitted[volume.place] = bytes.addingSaturated(admitted[volume.place] ?? 0)
            }
        }
    }

    private let root: RootDirectory
    private let leastFreeSpace: Int64
    private let look = Mutex<Look?>(nil)

    init(_ root: RootDirectory, leastFreeSpace: Int64) {
        self.root = root
        self.leastFreeSpace = leastFreeSpace
    }

    /// Admits bytes of a target if they fit; otherwise returns the reason why not.
    ///
    /// They must fit where the part lies and where the file will lie.
    func admit(_ bytes: Int64, for target: Target) -> MirrorError? {
        let needed = bytes.addingSaturated(leastFreeSpace)
        let now = SystemClock.monotonic()
        return look.withLock { look in
            if let known = look, now < known.endsAt {
                let volumes = known.space.volumes(for: target.area)
                let enough = needed.addingSaturated(Self.plenty)
                if volumes.allSatisfy({ known.bytes(on: $0) >= enough }) {
                    look?.admit(bytes, on: volumes)
                    return nil
                }
            }
            guard let space = try? FreeSpace(of: root) else { return nil }
            let volumes = space.volumes(for: target.area)
            var demand = SpaceDemand()
            demand.add(bytes, for: target)
            for volume in volumes {
                let refusal = demand.refusal(
                    at: volume.path(in: root), available: volume.availableBytes,
                    least: leastFreeSpace)
                if let refusal { return refusal }
            }
            var fresh = Look(space: space, endsAt: now + Self.validity)
            fresh.admit(bytes, on: volumes)
            look = fresh
            return nil
        }
    }
}
