internal import MirrorModel

/// What a plan must not exceed, judged before its first request.
struct RunLimits {
    let plan: Plan
    let options: RunOptions
    let configuration: Configuration

    /// Throws `deleteLimit` or `spaceLimit`.
    func check(_ root: RootDirectory) throws(MirrorError) {
        try checkRemovals()
        try checkSpace(root)
    }

    private func checkRemovals() throws(MirrorError) {
        var removals: [Int: Int] = [:]
        for position in plan.steps.notable {
            let step = plan.steps[position]
            if step.means == .removal { removals[step.manifest, default: 0] += 1 }
        }
        for (position, count) in removals.sorted(by: { $0.key < $1.key }) {
            let manifest = plan.manifests[position]
            let owned = plan.owned[manifest.owner] ?? count
            let isAllowed = options.deleteLimit.allows(
                removals: count, owned: owned, resources: manifest.resources.count)
            guard !isAllowed else { continue }
            throw MirrorError(
                .deleteLimit,
                "\(manifest.owner): \(count) of its \(Counted(owned, "file")) would be removed, which is more than --max-delete allows. Nothing was changed. If that is meant, pass --max-delete \(count)."
            )
        }
    }

    private func checkSpace(_ root: RootDirectory) throws(MirrorError) {
        let space: FreeSpace
        do throws(Errno) { space = try FreeSpace(of: root) } catch { throw MirrorError(error) }
        var demands: [String: SpaceDemand] = [:]
        for position in plan.steps.notable {
            let step = plan.steps[position]
            let bytes: Int64?
            switch step.means {
            // Most often the version that is there is confirmed, and nothing is written.
            case .transfer(_, let local) where local?.isConfirmable == true && step.size == nil:
                continue
            case .transfer: bytes = step.size.map { max(0, $0 - step.reusableBytes) }
            case .copy: bytes = step.size ?? 0
            case .nothing, .adoption, .move, .removal: continue
            }
            guard let volume = space.volume(of: step.target.area) else { continue }
            demands[volume.place, default: SpaceDemand()].add(bytes, for: step.target)
            // A part lies in tmp, and on another file system the file once more in its area.
            if step.needsNetwork, let parts = space.volume(of: .tmp), parts != volume {
                demands[parts.place, default: SpaceDemand()].passThrough(bytes, for: step.target)
            }
        }
        for volume in space.volumes {
            let refusal = demands[volume.place]?.refusal(
                at: volume.path(in: root), available: volume.availableBytes,
                least: configuration.leastFreeSpace)
            if let refusal { throw refusal }
        }
    }
}
