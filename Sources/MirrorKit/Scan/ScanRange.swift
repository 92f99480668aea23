/// Looks at a range of the targets, in their order.
///
/// It merges three sorted streams in one pass: wanted resources, index rows and files. If an
/// unchanged file's row meets all demands of its resource, the target costs no more than a
/// comparison of bytes. For every other target it makes a situation, and the reconciler
/// decides.
struct ScanRange: ~Copyable {
    private let view: ScanView
    private var next: Int
    private let end: Int
    private var scan: StatCursor?
    private var found: ScanFindings
    /// `owner`: the owner of the rows before this one; `ownedRows`: their number. Neighbours mostly
    /// share an owner.
    private var owner: [UInt8] = []
    private var ownedRows = 0
    private let isPlain: Bool
    /// The position of the first entry that the meter has not counted yet.
    private var metered: Int

    /// Takes a range of the wanted entries.
    ///
    /// Rows before the range's first entry belong to the previous range. Rows from the first entry
    /// after the range on belong to the next range. The first and the last range have all further
    /// rows.
    init(_ range: Range<Int>, of view: ScanView) {
        self.view = view
        next = range.lowerBound
        metered = range.lowerBound
        end = range.upperBound
        scan = view.root.map { StatCursor($0) }
        found = ScanFindings(of: view.wanted.manifests)
        isPlain =
            !view.options.verify && view.options.refetch.isEmpty && view.parts.isEmpty
    }

    /// Looks at the targets and decides. Throws `MirrorError`.
    consuming func look() throws -> ScanFindings {
        if let index = view.index {
            let start = next > 0 ? view.wanted.target(of: view.wanted.entries[next]).path : ""
            let limit =
                end < view.wanted.entries.count
                ? Array(view.wanted.target(of: view.wanted.entries[end]).path.utf8) : nil
            var cursor = try index.projectionCursor(from: start)
            var rows = 0
            while try cursor.next(), try advance(&cursor, before: limit) {
                rows += 1
                if rows % 4096 == 0 {
                    try view.stopIfCancelled()
                    noteProgress()
                }
            }
        }
        while next < end { try arrive() }
        countOwned()
        noteProgress()
        return found
    }

    private mutating func noteProgress() {
        view.meter?.add(files: next - metered)
        metered = next
    }

    /// Decides on the cursor's row, and on the wanted entries before that row.
    ///
    /// Returns false if the row belongs to the next range.
    private mutating func advance(
        _ cursor: inout ProjectionCursor, before limit: [UInt8]?
    ) throws -> Bool {
        guard let row = cursor.row else {
            // Reading the whole record throws an error that names the damage.
            let record = try cursor.wholeRecord()
            throw MirrorError(.inputOutput, "\(record.target): its row cannot be read.")
        }
        if let limit, limit.withUnsafeBufferPointer({ ByteOrder.compare(row.path, $0) >= 0 }) {
            found.rowBehind = Array(row.path)
            return false
        }
        if found.firstRow == nil { found.firstRow = Array(row.path) }
        count(row.owner)
        while next < end {
            let order = view.wanted.compare(view.wanted.entries[next], with: row.path)
            if order > 0 { break }
            if order < 0 {
                try arrive()
                continue
            }
            if isPlain, keeps(row) { return true }
            try decide(record: try cursor.wholeRecord())
            return true
        }
        if !view.orphanOwners.isEmpty { try letGo(&cursor, row) }
        return true
    }

    /// Makes a target an orphan if its manifest no longer names it, unless other manifests own it
    /// too.
    private mutating func letGo(_ cursor: inout ProjectionCursor, _ row: RowProjection) throws {
        if view.wanted.leavesOut(row.path) { return }
        let text = String(decoding: row.owner, as: UTF8.self)
        if let manifest = view.orphanOwners[text] {
            return try addOrphan(try cursor.wholeRecord(), of: manifest)
        }
        let owners = Owners(text: text)
        guard owners.isShared,
            let left = owners.left(letsGo: { view.orphanOwners[$0] != nil })
        else { return }
        if left.isEmpty, let manifest = view.orphanOwners[owners.names[0]] {
            try addOrphan(try cursor.wholeRecord(), of: manifest)
        } else {
            found.released[try cursor.rowTarget()] = left
        }
    }

    /// Adds a plain keep if the file is as its row says and the row meets the resource's demands.
    ///
    /// Returns false otherwise.
    private mutating func keeps(_ row: RowProjection) -> Bool {
        let entry = view.wanted.entries[next]
        guard view.wanted.isSatisfied(entry, by: row), view.keepsOwners(entry, row),
            scan?.isUnchanged(row.path, since: row.stamp) == true
        else { return false }
        found.steps.appendPlainKeep(
            manifest: Int(entry.manifest), resource: Int(entry.resource))
        next += 1
        return true
    }

    private mutating func count(_ owner: UnsafeBufferPointer<UInt8>) {
        if !owner.elementsEqual(self.owner) {
            countOwned()
            self.owner = Array(owner)
        }
        ownedRows += 1
    }

    private mutating func countOwned() {
        if ownedRows > 0 {
            for name in Owners(text: String(decoding: owner, as: UTF8.self)).names {
                found.owned[name, default: 0] += ownedRows
            }
        }
        ownedRows = 0
    }

    /// Decides on the next wanted entry, which has no row.
    ///
    /// If the target has no file, no part and no other owner, the step is a plain fetch. No
    /// situation is made for such an entry; `useTree` can make it again.
    private mutating func arrive() throws {
        let entry = view.wanted.entries[next]
        guard isPlain, view.wanted.arrivesPlainly(entry),
            view.wanted.withPath(of: entry, { scan?.isAbsent($0) ?? true })
        else { return try decide(record: nil) }
        try pass()
        if view.index != nil { found.search(with: nil) }
        found.steps.appendPlainFetch(manifest: Int(entry.manifest), resource: Int(entry.resource))
    }

    /// Goes to the next entry.
    private mutating func pass() throws {
        next += 1
        if next % 512 == 0 {
            try view.stopIfCancelled()
            noteProgress()
        }
    }

    private mutating func decide(record: IndexRecord?) throws {
        let entry = view.wanted.entries[next]
        try pass()
        var situation = view.situation(of: entry)
        let target = situation.resource.target
        situation.record = record
        situation.owners = owners(of: situation, entry)
        situation.file = try scan?.look(at: target) ?? .absent
        situation.parts = view.parts[target] ?? []
        try readWhereInDoubt(&situation)
        let decision = view.reconciler.step(for: situation, now: view.now)
        let isPlain = record == nil && view.isPlainFetch(decision, entry)
        if situation.owners != Owners(situation.owner),
            decision.reason != .ownedTogether(by: situation.owners)
        {
            found.owners[target] = situation.owners
        }
        // The tree may have the bytes under another name: by their pin or, for an absent target, by
        // their source.
        if case .transfer = decision.means, view.index != nil,
            situation.resource.pin != nil || situation.file == .absent
        {
            found.search(with: isPlain ? nil : situation)
        }
        if isPlain {
            found.steps.appendPlainFetch(
                manifest: Int(entry.manifest), resource: Int(entry.resource))
        } else {
            found.steps.append(view.step(decision, entry, situation))
        }
    }

    /// The owners of a wanted target after this plan.
    ///
    /// Records a dispute if manifests want different files; a dispute makes the plan fail.
    private mutating func owners(of situation: Situation, _ entry: Wanted.Reference) -> Owners {
        let wanting = view.wanted.owners(of: entry)
        let target = situation.resource.target
        let isSettled = situation.isSettledAmongOwners(wanting)
        var dispute: TargetDispute?
        let owners = Owners.merging(
            recorded: situation.record?.owners, wanting: wanting,
            takesOver: view.options.takeOver
        ) { name in
            if isSettled, !view.book.isOfRun(name) { return .agrees }
            guard let other = view.book.claim(of: name, on: target) else { return .silent }
            let difference = TargetDifference.between(
                situation.resource, other.resource, record: situation.record)
            guard let difference else { return .agrees }
            dispute = TargetDispute(
                target: target, given: view.wanted.claim(of: entry), other: other.claim,
                difference: difference, areBothGiven: other.isGiven)
            return .disputes
        }
        if owners == nil, let dispute { found.disputes.append(dispute) }
        return owners ?? Owners(wanting)
    }

    /// Reads a file if its stamp differs from its row's, or if the row lacks the strongest declared
    /// digest.
    private mutating func readWhereInDoubt(_ situation: inout Situation) throws {
        guard case .file(let stamp) = situation.file, let root = view.root else { return }
        let declared = situation.resource.digests.first?.algorithm
        let record = situation.record
        let isKnown =
            record.map { record in
                record.stamp == stamp
                    && (declared.map { record.digest(of: $0) != nil } ?? true)
            } ?? false
        guard !isKnown || view.options.verify else { return }
        var algorithms: [DigestAlgorithm] = [.sha256]
        if let declared, declared != .sha256 { algorithms.append(declared) }
        // Between the look and the read, a file can disappear and another can appear.
        for _ in 1...3 {
            guard case .file = situation.file else { return }
            let read: FileDigests?
            noteReading(situation.resource.target)
            do throws(MirrorError) {
                read = try FileDigests.read(
                    situation.resource.target, in: root, algorithms: algorithms,
                    isCancelled: view.isCancelled, hasRead: ActivityMeter.reading(view.meter))
            } catch {
                // An unreadable file makes its resource fail, not the plan.
                guard error.code != .cancelled else { throw error }
                situation.isUnreadable = true
                return
            }
            if let read {
                situation.digests = read.digests
                situation.file = .file(read.stamp)
                return
            }
            situation.file = try scan?.look(at: situation.resource.target) ?? .absent
        }
    }

    private mutating func noteReading(_ target: Target) {
        // The file that is read now is not done yet.
        view.meter?.add(files: next - 1 - metered)
        metered = next - 1
        view.meter?.name(target)
    }

    /// Adds an orphan, unless its file is gone or was changed.
    ///
    /// If the file is gone, the orphan's row is forgotten. A changed file belongs to the user now.
    private mutating func addOrphan(_ record: IndexRecord, of manifest: Int) throws {
        // The name may have been a server's choice before, and so the first shard's. Now that a
        // manifest gives it, another shard has the target, and its file is no orphan.
        if view.root?.shard.isWhole == false, view.book.isWanted(record.target) {
            found.forgotten.append(record.target)
            return
        }
        guard case .file(let stamp) = try scan?.look(at: record.target) ?? .absent else {
            found.forgotten.append(record.target)
            return
        }
        guard stamp != record.stamp, let root = view.root else {
            return found.orphans.append(record, stamp: stamp, manifest: manifest)
        }
        do throws(MirrorError) {
            let read = try FileDigests.read(
                record.target, in: root, isCancelled: view.isCancelled)
            guard let read, read.digests.first == record.sha256 else {
                return found.doubtfulOrphans.append((record.target, read?.stamp ?? stamp))
            }
            found.orphans.append(record, stamp: read.stamp, manifest: manifest)
        } catch {
            if error.code == .cancelled { throw error }
            found.unreadOrphans.append(record, stamp: record.stamp, manifest: manifest)
            found.doubtfulOrphans.append((record.target, stamp))
        }
    }
}
