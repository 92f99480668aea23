internal import Glibc

/// Leaves files out of a plan that do not fit into the quota of Caches, or are unused in tmp.
///
/// The scan also finds parts that no manifest wants any more, for removal.
struct AdmissionScan {
    private let view: ScanView
    /// The files that earlier runs left out.
    private let evicted: [Target: EvictedFile]

    /// Orphans whose files are also the files of other targets, so that they do not count a second
    /// time.
    private let respelled: Set<Target>

    /// Reads from the index which files earlier runs left out. Throws `MirrorError`.
    init(_ view: ScanView, besides respelled: Set<Target>) throws {
        (self.view, self.respelled) = (view, respelled)
        let files = try view.index?.evictedFiles() ?? []
        evicted = Dictionary(files.map { ($0.target, $0) }, uniquingKeysWith: { $1 })
    }

    /// Adds evictions, readmissions and abandoned parts to a plan. Throws `MirrorError`.
    func look(_ plan: inout Plan) throws {
        plan.learn(evicted.values.compactMap { file in file.size.map { (file.target, $0) } })
        if let quota = view.options.quota {
            try admit(to: quota, &plan)
        } else {
            readmitAll(of: .caches, &plan)
        }
        if let longest = view.options.keepTmp?.wholeSeconds {
            try letGo(unusedFor: longest, &plan)
        } else {
            readmitAll(of: .tmp, &plan)
        }
        plan.abandonedParts = try abandonedParts(beside: plan)
    }

    /// Readmits the evicted files of an area for which the plan has a step.
    private func readmitAll(of area: Area, _ plan: inout Plan) {
        plan.readmitted += evicted.keys.filter {
            $0.area == area && plan.steps.position(of: $0) != nil
        }
    }

    /// Calls the closure with each of mirror's files in an area. Without a root there are none.
    private func forEachFile(
        in area: Area, _ body: (CachedFile, RowProjection) throws -> Void
    ) throws {
        guard let root = view.root, let index = view.index else { return }
        try index.forEachCachedFile(in: area, of: root, view.meter, body)
    }
}

// MARK: Caches

extension AdmissionScan {
    /// A candidate for the quota, and the step or the file that it stands for.
    private struct Seat {
        var candidate: QuotaCandidate
        /// The position of the candidate's step. `nil` for a file that no step names.
        var step: Int?
        /// The existing file. `nil` if there is none.
        var file: CachedFile?
    }

    private func admit(to quota: Int64, _ plan: inout Plan) throws {
        let seats = try seats(&plan)
        let leftOut = QuotaCandidate.leftOut(of: seats.map(\.candidate), quota: quota)
        let out = Set(leftOut)
        let taken = seats.indices.reduce(Int64(0)) { taken, position in
            out.contains(position) ? taken : taken.addingSaturated(seats[position].candidate.size)
        }
        plan.quotaRoom = QuotaRoom(quota: quota, left: max(0, quota - taken))
        for (position, seat) in seats.enumerated() where !out.contains(position) {
            let target = target(of: seat, plan)
            if evicted[target] != nil { plan.readmitted.append(target) }
        }
        var others: [Step] = []
        for seat in leftOut.map({ seats[$0] }) {
            let size = seat.candidate.size > 0 ? seat.candidate.size : nil
            guard let step = try evict(seat, .overQuota(of: quota, size: size), plan) else {
                continue
            }
            if let position = seat.step {
                plan.steps.replace(at: position, with: step)
            } else {
                others.append(step)
            }
            guard evicted[step.target] == nil, seat.candidate.claim != .unwanted else { continue }
            plan.newlyEvicted.append(
                EvictedFile(target: step.target, size: size, lastUse: seat.candidate.lastUse))
        }
        insert(others, &plan)
    }

    /// All files that Caches has or would get, in the order of their paths' bytes.
    private func seats(_ plan: inout Plan) throws -> [Seat] {
        var seats: [Seat] = []
        var position = 0
        let end = plan.steps.indices.first { plan.steps.target(at: $0).area != .caches }
        let count = end ?? plan.steps.count
        var files = 0
        try forEachFile(in: .caches) { file, row in
            if respelled.contains(file.target) { return }
            files += 1
            while position < count, plan.steps.target(at: position) < file.target {
                if let seat = seat(ofMissing: position, plan) { seats.append(seat) }
                position += 1
            }
            if position < count, plan.steps.target(at: position) == file.target {
                if let seat = seat(of: file, position, plan) { seats.append(seat) }
                position += 1
            } else {
                seats.append(seat(of: file, row))
            }
        }
        while position < count {
            if let seat = seat(ofMissing: position, plan) { seats.append(seat) }
            position += 1
        }
        plan.evictableFiles += files
        return seats
    }

    /// The seat of a step without a file from mirror. Returns nil for a removal.
    private func seat(ofMissing position: Int, _ plan: Plan) -> Seat? {
        let target = plan.steps.target(at: position)
        let known = evicted[target]
        var candidate = QuotaCandidate(
            size: 0, priority: priority(at: position, plan),
            claim: claim(on: target, wasEvicted: known != nil),
            lastUse: known?.lastUse ?? view.now)
        if let fetch = plan.steps.plainFetch(at: position) {
            candidate.size = fetch.size ?? 0
        } else {
            let step = plan.steps[position]
            if step.means == .removal { return nil }
            candidate.size = step.size ?? 0
            if case .nothing = step.existing { return Seat(candidate: candidate, step: position) }
            // mirror did not put this file there: it is the user's, or the step adopts it.
            candidate.mayLeave = false
        }
        return Seat(candidate: candidate, step: position)
    }

    /// The seat of a step whose target has a file from mirror. Returns nil for a removal.
    private func seat(of file: CachedFile, _ position: Int, _ plan: Plan) -> Seat? {
        var candidate = QuotaCandidate(
            size: file.stamp.size, priority: priority(at: position, plan),
            claim: claim(on: file.target, wasEvicted: false), lastUse: file.lastUsed,
            mayLeave: file.state == .idle)
        if !plan.steps.isPlainKeep(at: position) {
            let step = plan.steps[position]
            if step.means == .removal { return nil }
            candidate.size = step.size ?? file.stamp.size
            if step.kind == .repair || step.kind == .conflict { candidate.mayLeave = false }
        }
        if isAtomic(position, plan) { candidate.mayLeave = false }
        return Seat(candidate: candidate, step: position, file: file)
    }

    /// The seat of a file without a step: of another manifest, not selected by its tags, or an
    /// orphan.
    private func seat(of file: CachedFile, _ row: RowProjection) -> Seat {
        let owners = Owners(text: String(decoding: row.owner, as: UTF8.self))
        let claims = owners.names.compactMap { view.book.claim(of: $0, on: file.target) }
        return Seat(
            candidate: QuotaCandidate(
                size: file.stamp.size,
                priority: claims.map(\.resource.priority).max() ?? 0,
                claim: claims.isEmpty ? .unwanted : .wanted, lastUse: file.lastUsed,
                mayLeave: file.state == .idle && !claims.contains(where: \.isAtomic)),
            file: file)
    }

    /// Whether a step belongs to an atomic manifest. Its files are not evicted, because they are a
    /// set.
    private func isAtomic(_ position: Int, _ plan: Plan) -> Bool {
        plan.steps.resource(at: position).map { plan.manifests[$0.manifest].isAtomic } ?? false
    }

    private func claim(on target: Target, wasEvicted: Bool) -> QuotaCandidate.Claim {
        if view.options.asked.contains(target) { return .asked }
        return wasEvicted ? .evicted : .wanted
    }

    private func priority(at position: Int, _ plan: Plan) -> Int32 {
        guard let (manifest, resource) = plan.steps.resource(at: position) else { return 0 }
        return plan.manifests[manifest].resources.turn(at: resource).priority
    }

    private func target(of seat: Seat, _ plan: Plan) -> Target {
        seat.file?.target ?? plan.steps.target(at: seat.step ?? 0)
    }

    /// The step that evicts or leaves out a file. Returns nil if the file's row is gone.
    private func evict(_ seat: Seat, _ reason: Reason, _ plan: Plan) throws -> Step? {
        let old = seat.step.map { plan.steps[$0] }
        guard let file = seat.file else {
            return old.map { Step(leavingOut: $0, reason) }
        }
        guard let record = try view.index?.record(for: file.target) else { return nil }
        return Step(
            target: file.target, manifest: old?.manifest ?? 0, resource: old?.resource,
            kind: .evicted, reason: reason, means: .removal,
            existing: .ours(file.stamp, sha256: record.sha256), size: file.stamp.size)
    }

    /// Merges further steps into the plan. Both lists are in the order of the targets.
    private func insert(_ steps: [Step], _ plan: inout Plan) {
        guard !steps.isEmpty else { return }
        var merged = StepList(of: plan.manifests)
        var rest = steps[...]
        for position in plan.steps.indices {
            let target = plan.steps.target(at: position)
            while let step = rest.first, step.target < target {
                merged.append(step)
                rest.removeFirst()
            }
            merged.append(stepAt: position, of: plan.steps)
        }
        for step in rest { merged.append(step) }
        plan.steps = merged
    }
}

extension Step {
    /// Makes a step that does not fetch the file, because there is no space for it.
    fileprivate init(leavingOut step: Step, _ reason: Reason) {
        self = step
        kind = .evicted
        self.reason = reason
        means = .nothing
        existing = .nothing
    }
}

// MARK: tmp

extension AdmissionScan {
    /// Evicts files of tmp that were not used for `longest` seconds.
    ///
    /// Files that earlier runs evicted for this reason are not fetched again.
    private func letGo(unusedFor longest: Int64, _ plan: inout Plan) throws {
        for position in plan.steps.indices.reversed() {
            let target = plan.steps.target(at: position)
            guard target.area == .tmp else { break }
            guard let known = evicted[target], !view.options.asked.contains(target) else {
                if evicted[target] != nil { plan.readmitted.append(target) }
                continue
            }
            let step = plan.steps[position]
            guard case .nothing = step.existing, step.resource != nil else { continue }
            let reason = Reason.unused(seconds: view.now.seconds(since: known.lastUse))
            plan.steps.replace(at: position, with: Step(leavingOut: step, reason))
        }
        try forEachFile(in: .tmp) { file, _ in
            plan.evictableFiles += 1
            let age = view.now.seconds(since: file.lastUsed)
            guard age >= longest, file.state == .idle,
                !view.options.asked.contains(file.target),
                let position = plan.steps.position(of: file.target)
            else { return }
            let old = plan.steps[position]
            guard old.resource != nil, old.kind != .repair, !isAtomic(position, plan) else {
                return
            }
            let seat = Seat(
                candidate: QuotaCandidate(
                    size: file.stamp.size, claim: .wanted, lastUse: file.lastUsed),
                step: position, file: file)
            guard let step = try evict(seat, .unused(seconds: age), plan) else { return }
            plan.steps.replace(at: position, with: step)
            plan.newlyEvicted.append(
                EvictedFile(
                    target: file.target, size: file.stamp.size, lastUse: file.lastUsed))
        }
    }

    /// The names of parts that no manifest wants any more and that are old enough to be removed.
    private func abandonedParts(beside plan: Plan) throws -> [String] {
        guard let longest = view.options.keepParts?.wholeSeconds, let root = view.root else {
            return []
        }
        var names: [String] = []
        for (target, parts) in view.parts where plan.steps.position(of: target) == nil {
            let old = try parts.map(\.name).filter { name in
                try age(ofPart: name, in: root).map { $0 >= longest } ?? true
            }
            if !old.isEmpty, !view.book.isWanted(target) { names += old }
        }
        return names.sorted()
    }

    /// Seconds since a part was last written. Returns nil if the part does not exist.
    private func age(ofPart name: String, in root: RootDirectory) throws -> Int64? {
        do throws(Errno) {
            let folder = try root.openFolder(Area.tmp.rawValue)
            let status = try FileStatus(folder: folder.number, name: name, path: name)
            let written = Instant(milliseconds: status.stamp.modified / 1_000_000)
            return view.now.seconds(since: written)
        } catch {
            if error.number == ENOENT { return nil }
            throw MirrorError(error)
        }
    }
}

extension Index {
    /// Calls the closure with each existing file of an area and its row, in the order of their
    /// paths.
    ///
    /// The last use of a file is the latest of three times: the last use that a library call noted,
    /// the last read that the file system reports, and the promotion. Most file systems note only
    /// the first read of a day (`relatime`, mount(8)). A row is valid only during the call of the
    /// closure. Throws `MirrorError`, and what the closure throws.
    func forEachCachedFile(
        in area: Area, of root: RootDirectory, _ meter: ActivityMeter?,
        _ body: (CachedFile, RowProjection) throws -> Void
    ) throws {
        let locks = TargetLocks.of(root)
        meter?.begin(.looking)
        defer { meter?.end() }
        var scan = StatCursor(root)
        var cursor = try cursorOfUses(in: area)
        while try cursor.next() {
            guard let row = cursor.row else {
                // Reading the whole record throws an error that names the damage.
                let record = try cursor.wholeRecord()
                throw MirrorError(.inputOutput, "\(record.target): its row cannot be read.")
            }
            let target = try cursor.rowTarget()
            guard target.area == area else { break }
            meter?.add(files: 1)
            guard let seen = try scan.lookAtUse(of: target) else { continue }
            var file = CachedFile(
                target: target, stamp: seen.stamp, lastUsed: max(seen.accessed, cursor.lastUse),
                state: .idle)
            if locks.isInUse(target) {
                file.state = .inUse
            } else if seen.stamp != row.stamp, !row.hasBytes(of: target, seen.stamp, in: root) {
                file.state = .changed
            }
            try body(file, row)
        }
    }
}
