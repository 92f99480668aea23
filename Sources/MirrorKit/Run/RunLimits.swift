internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem

/// The limits that a plan must not exceed, checked before its first request.
struct RunLimits {
    let plan: Plan
    let options: RunOptions
    let configuration: Configuration

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
        var demands: [String: SpaceDemand] = [:]
        var freed: [String: Int64] = [:]
        for position in plan.steps.notable {
            if let fetch = plan.steps.plainFetch(at: position) {
                add(
                    fetch.size, for: plan.steps.target(at: position), isFetched: true, in: space,
                    to: &demands)
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
                if let volume = space.volume(of: step.target.area) {
                    freed[volume.place, default: 0] += step.size ?? 0
                }
                continue
            case (.nothing, _), (.adoption, _), (.move, _), (.removal, _): continue
            }
            add(bytes, for: step.target, isFetched: step.needsNetwork, in: space, to: &demands)
        }
        var room = Room.now
        for volume in space.volumes {
            guard let demand = demands[volume.place] else { continue }
            let refusal = { (freed: Int64) in
                demand.refusal(
                    at: volume.path(in: root),
                    available: volume.availableBytes.addingSaturated(freed),
                    least: configuration.leastFreeSpace)
            }
            if refusal(0) == nil { continue }
            if let refusal = refusal(freed[volume.place] ?? 0) { throw refusal }
            room = .afterEvictions
        }
        return room
    }

    private func add(
        _ bytes: Int64?, for target: Target, isFetched: Bool, in space: FreeSpace,
        to demands: inout [String: SpaceDemand]
    ) {
        guard let volume = space.volume(of: target.area) else { return }
        demands[volume.place, default: SpaceDemand()].add(bytes, for: target)
        // A part lies in tmp. On another file system, the file takes up space once more in its
        // area.
        if isFetched, let parts = space.volume(of: .tmp), parts != volume {
            demands[parts.place, default: SpaceDemand()].passThrough(bytes, for: target)
        }
    }
}
