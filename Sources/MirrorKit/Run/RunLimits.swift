/// The limits that a plan must not exceed, checked before its first request.
struct RunLimits {
    let plan: Plan
    let options: RunOptions
    let configuration: Configuration
    /// Why the run fetches only urgent resources when it begins. `nil` if it fetches all.
    let deferral: Deferral?

    init(_ execution: Execution, deferral: Deferral?) {
        plan = execution.plan
        options = execution.options
        configuration = execution.configuration
        self.deferral = deferral
    }

    /// Checks the limits. Returns what is missing for files that do not fit on the disk, and whether
    /// the others fit only after the plan's evictions.
    ///
    /// Throws `deleteLimit`, or `spaceLimit` for a run that requires room for all files.
    func check(
        in root: RootDirectory
    ) throws(MirrorError) -> (shortages: [Int: SpaceShortage], needsEvictions: Bool) {
        try checkRemovals()
        try checkEvictions()
        let disk = try DiskSpace(of: root, least: configuration.minFree)
        let sets = options.offline ? AtomicSets(plan) : nil
        let postponed = postponedSteps()
        let shortages = plan.shortages(on: disk) { isLeftForLater($0, sets, postponed) }
        if options.requireRoom { try requireRoom(shortages) }
        let needsEvictions =
            plan.evictableFiles > 0
            && !plan.fits(disk) {
                shortages[$0] != nil || isLeftForLater($0, sets, postponed)
            }
        return (shortages, needsEvictions)
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

    private func requireRoom(_ shortages: [Int: SpaceShortage]) throws(MirrorError) {
        guard let (position, shortage) = shortages.min(by: { $0.key < $1.key }) else { return }
        let target = plan.steps.target(at: position)
        let others = shortages.count - 1
        let more = others > 0 ? " and \(Counted(others, "more file"))" : ""
        throw MirrorError(
            .spaceLimit, "\(target)\(more): \(shortage.because). Nothing was changed.",
            target: target, remedy: shortage.remedy)
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
        let planned = PlannedDownloads(plan, AtomicSets(plan))
        for number in planned.numbers {
            let steps = planned.steps(of: number)
            if plan.deferral(of: steps, deferral, aside: options.paused) != nil {
                postponed.insert(steps)
            }
        }
        return postponed
    }
}

/// Admits bodies as long as they fit on the disk; used on the thread of transfers.
///
/// A question to the file system costs as much as the receipt of a small file. So its answer is
/// used again for a while, less the bytes admitted since, while plenty of space is left. A refusal
/// always follows a new question.
struct FreeSpaceCheck {
    /// Milliseconds for which an answer of the file system is used again.
    private static let validity: Int64 = 250
    /// If fewer free bytes than this would remain, each body needs a new answer of the file system.
    private static let plenty: Int64 = 256 << 20

    private let root: RootDirectory
    private let least: Int64
    /// How many bytes may come before the file system is asked again.
    private var slack: Int64 = 0
    /// When `slack` expires, in milliseconds of the monotonic clock.
    private var end: Int64 = 0

    init(_ root: RootDirectory, least: Int64) {
        self.root = root
        self.least = least
    }

    /// Returns what is missing for a body. Returns nil if it fits.
    ///
    /// - Parameters:
    ///   - bytes: the bytes that will come. `nil` means that their number is not known; then they
    ///     do not fit.
    ///   - size: the size of the whole file, where known.
    ///   - reserved: the bytes that the bodies under way still bring, by their areas.
    mutating func shortage(
        of bytes: Int64?, forFileOf size: Int64?, in area: Area, reserved: () -> [Area: Int64]
    ) -> SpaceShortage? {
        let now = SystemClock.monotonic()
        if let bytes, now < end, bytes <= slack {
            slack -= bytes
            return nil
        }
        (slack, end) = (0, 0)
        // If the file system gives no answer, writing shows whether the bytes fit.
        guard var disk = try? DiskSpace(of: root, least: least) else { return nil }
        guard let bytes else { return disk.lack(ofUnknownSizeIn: area) }
        for (area, bytes) in reserved() { disk.take(bytes, in: area) }
        let need = SpaceNeed(size: size, bytes: bytes, area: area, isFetched: true)
        if let shortage = disk.reserve(need) { return shortage }
        let left = disk.volumes.map { $0.available - least }.min() ?? 0
        (slack, end) = (max(0, left - Self.plenty), now + Self.validity)
        return nil
    }
}

extension DiskSpace {
    /// Asks the file systems under a root for their free space.
    init(of root: RootDirectory, least: Int64) throws(MirrorError) {
        let all: [Volume]
        do throws(Errno) { all = try Volume.all(of: root) } catch { throw MirrorError(error) }
        self.init(
            all.map {
                DiskVolume(
                    place: $0.path(in: root), areas: Set($0.areas), available: $0.availableBytes,
                    least: least)
            })
    }
}
