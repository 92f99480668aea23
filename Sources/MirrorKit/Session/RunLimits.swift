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
                "\(manifest.owner): \(count) of its \(owned) files would be removed, which is more than --max-delete allows. Nothing was changed. If that is meant, pass --max-delete \(count)."
            )
        }
    }

    private func checkSpace(_ root: RootDirectory) throws(MirrorError) {
        let space: FreeSpace
        do throws(Errno) { space = try FreeSpace(of: root) } catch { throw MirrorError(error) }
        var needed: [String: Int64] = [:]
        for position in plan.steps.notable {
            let step = plan.steps[position]
            let bytes: Int64
            switch step.means {
            // A part lies in tmp, and on another file system the file once more in its area.
            case .transfer: bytes = max(0, (step.size ?? 0) - step.reusableBytes)
            case .copy: bytes = step.size ?? 0
            case .nothing, .adoption, .move, .removal: continue
            }
            guard let volume = space.volume(of: step.target.area) else { continue }
            needed[volume.place] = bytes.addingSaturated(needed[volume.place] ?? 0)
            if step.needsNetwork, let parts = space.volume(of: .tmp), parts != volume {
                needed[parts.place] = max(needed[parts.place] ?? 0, bytes)
            }
        }
        for volume in space.volumes {
            guard let bytes = needed[volume.place], bytes > 0 else { continue }
            let least = configuration.leastFreeSpace
            guard volume.availableBytes < bytes.addingSaturated(least) else { continue }
            let place = volume.place.isEmpty ? root.path : root.path + "/" + volume.place
            throw MirrorError(
                .spaceLimit,
                "\(place): \(ByteCount(bytes)) are to be written and \(ByteCount(least)) stay free (--min-free), but only \(ByteCount(volume.availableBytes)) are left. Nothing was fetched. Make room, or lower --min-free."
            )
        }
    }
}
