/// Lists the files that the index knows or the manifests want, one after another.
///
/// The inventory merges rows, wanted resources and files in one pass over sorted streams, as a scan
/// does. It looks at each file, and reads those in doubt if the caller asks for it.
struct Inventory: ~Copyable {
    private let view: TreeView
    private let wanted: Wanted
    private let now: Instant
    /// Tells a read that the caller was cancelled. `nil` means that the inventory reads no file.
    private let isCancelled: (@Sendable () -> Bool)?
    /// Receives the progress of the reads. `nil` if no code listens.
    private let meter: ActivityMeter?
    /// Narrows the selections of the manifests.
    private let selection: Selection
    private var scan: StatCursor?
    private var parts: [Target: Int64] = [:]
    private let evicted: Set<Target>
    /// The owners whose targets are orphans if their manifests no longer name them.
    private let orphanOwners: Set<String>
    /// The records of unfinished promotions, whose rows are not written yet.
    ///
    /// A run under way or an interrupted one has begun these promotions.
    private let intended: [Target: IndexRecord]
    /// The folders that unfinished promotions exchange as a whole, each with a slash at its end.
    private let exchangedFolders: [String]
    private var next = 0
    private var conflicts = ConflictScan()

    /// Prepares a list of files. With a selection, the list has only the files that it selects.
    ///
    /// - Parameter isCancelled: tells a read that the caller was cancelled. Without it, no file is
    ///   read, and a file in doubt is `changed`.
    init(
        view: TreeView, manifests: [Manifest], _ selection: Selection, now: Instant,
        meter: ActivityMeter? = nil, isCancelled: (@Sendable () -> Bool)?
    ) throws {
        var options = PlanOptions()
        (options.only, options.skip) = (selection.only, selection.skip)
        let wanted = try Wanted(manifests, options: options, of: view.shard, index: view.index)
        // A pattern may match a file that no manifest wants.
        try selection.unknownPatterns(in: manifests)
        let evicted = Set(try view.index?.evictedFiles().map(\.target) ?? [])
        let unfinished = try view.index?.unfinishedPromotions()
        let formerNames = OwnerBook.formerNames(
            of: manifests, among: try ManifestMemory.all(in: view).map(\.record), in: view)
        self.evicted = evicted
        orphanOwners = Set(OwnerBook.orphanOwners(manifests, formerNames).keys)
        intended = Dictionary(
            (unfinished?.records ?? []).map { ($0.target, $0) }, uniquingKeysWith: { $1 })
        exchangedFolders = (unfinished?.folders ?? []).map { $0 + "/" }
        self.view = view
        self.now = now
        self.isCancelled = isCancelled
        self.meter = meter
        self.wanted = wanted
        self.selection = selection
        scan = view.root.map { StatCursor($0) }
    }

    /// Calls the closure with each file in the order of the targets' bytes, then with each conflict
    /// copy.
    mutating func files(_ body: (StoredFile) throws -> Void) throws {
        meter?.begin(.looking)
        defer { meter?.end() }
        if let index = view.index {
            for part in try index.allParts() {
                parts[part.target] = max(parts[part.target] ?? 0, part.loggedBytes)
            }
            var cursor = try index.projectionCursor(from: "")
            while try cursor.next() { try tell(&cursor, body) }
        }
        while next < wanted.entries.count { try tellUnknown(body) }
        guard selection.isAll else { return }
        for copy in try conflicts.copies(in: view, wanted) { try body(StoredFile(copy)) }
    }

    /// Calls the closure with wanted files before the cursor's row, and then with that row's file.
    private mutating func tell(
        _ cursor: inout ProjectionCursor, _ body: (StoredFile) throws -> Void
    ) throws {
        guard let row = cursor.row else {
            // Reading the whole record throws an error that names the damage.
            let record = try cursor.wholeRecord()
            throw MirrorError(.inputOutput, "\(record.target): its row cannot be read.")
        }
        var isWanted = false
        while next < wanted.entries.count, !isWanted {
            let order = wanted.compare(wanted.entries[next], with: row.path)
            if order > 0 { break }
            isWanted = order == 0
            if !isWanted { try tellUnknown(body) }
        }
        conflicts.note(row.path)
        let isUntouched = scan?.isUnchanged(row.path, since: row.stamp) == true
        let known = try cursor.wholeRecord()
        let seen =
            isUntouched ? .file(row.stamp) : try look(at: known.target)
        let placed = isUntouched ? nil : placed(known.target, seen, over: known)
        let record = placed ?? known
        var file = StoredFile(record, file: seen)
        if isWanted {
            judge(&file, record)
            next += 1
        } else {
            if !selection.isAll, !selection.selects(tags: [], path: row.path) { return }
            let owners = record.owners.names
            file.isOrphan =
                !owners.isEmpty && owners.allSatisfy(orphanOwners.contains)
                && !wanted.leavesOut(row.path)
            // A file that is not there counts as missing only if a manifest wants it.
            if !wanted.manifests.isEmpty, file.state == .missing { return }
        }
        if file.state == .changed, try hasBytes(of: record, seen) { file.state = .intact }
        try body(withPart(file))
    }

    /// Whether a file with another stamp than its record's has the bytes of the record.
    ///
    /// The file is read only if it has the size of the record. One that cannot be read counts as
    /// changed. Throws `MirrorError` with `cancelled`.
    private func hasBytes(of record: IndexRecord, _ file: LocalFile) throws -> Bool {
        guard let isCancelled, let root = view.root, case .file(let stamp) = file,
            stamp.size == record.stamp.size
        else { return false }
        meter?.name(record.target)
        do throws(MirrorError) {
            let read = try FileDigests.read(
                record.target, in: root, isCancelled: isCancelled,
                hasRead: ActivityMeter.reading(meter))
            return read?.digests.first == record.sha256
        } catch {
            if error.code == .cancelled { throw error }
            return false
        }
    }

    /// Sets how a wanted file is verified and how fresh it is.
    private func judge(_ file: inout StoredFile, _ record: IndexRecord) {
        let resource = wanted.resource(of: wanted.entries[next])
        guard resource.pin != nil else {
            file.freshness = Freshness.judge(resource.refresh, record: record, now: now)
            return
        }
        // A digest that the manifest declares now may prove the bytes, if the row has that digest.
        if resource.digests.contains(where: record.isProven) { file.verified = .digest }
        file.freshness = .fresh(until: nil)
    }

    /// The record of a version that an unfinished promotion has put at a target, or left there.
    ///
    /// Returns nil if the file at the target is no such version.
    private func placed(
        _ target: Target, _ file: LocalFile, over known: IndexRecord? = nil
    ) -> IndexRecord? {
        guard case .file(let stamp) = file else { return nil }
        let isExchanged = exchangedFolders.contains { target.path.utf8.starts(with: $0.utf8) }
        let versions = [intended[target], isExchanged ? known : nil].compactMap(\.self)
        var record = versions.first { stamp.isSameVersion(as: $0.stamp) }
        record?.stamp = stamp
        return record
    }

    /// Calls the closure with the next wanted file, which has no row in the index.
    private mutating func tellUnknown(_ body: (StoredFile) throws -> Void) throws {
        let candidate = wanted.target(of: wanted.entries[next])
        defer { next += 1 }
        conflicts.note(candidate)
        let seen = try look(at: candidate)
        if let record = placed(candidate, seen) {
            var file = StoredFile(record, file: seen)
            judge(&file, record)
            return try body(withPart(file))
        }
        let state: StoredFile.State
        switch seen {
        case .absent: state = evicted.contains(candidate) ? .evicted : .missing
        case .other: state = .obstructed
        case .file: state = .untracked
        }
        try body(withPart(StoredFile(target: candidate, state: state)))
    }

    private mutating func look(at target: Target) throws -> LocalFile {
        try scan?.look(at: target) ?? .absent
    }

    private func withPart(_ file: StoredFile) -> StoredFile {
        guard !parts.isEmpty, let bytes = parts[file.target] else { return file }
        var file = file
        file.partBytes = bytes
        return file
    }
}

/// Finds conflict copies by their names, beside the targets that are known or wanted.
///
/// The index does not record copies. So a copy exists exactly as long as its file does, even if the
/// index is lost. A crash during a promotion cannot make index and files differ.
struct ConflictScan {
    private var folders: Set<String> = []
    private var last: [UInt8] = []
    /// Targets with long names. The name of a copy may be a cut name, to make room for the mark.
    private var long: [Target] = []

    private static let longName = 200
    private static let longPath = Target.longestPath - 64

    /// Searches no folder yet.
    init() {}

    /// Searches the folders of all targets that the index knows, or only that of one target.
    init(beside name: Target?, in index: Index?) throws {
        if let name { note(name) }
        // A copy may have a cut name. The other targets of the folder show to which target it
        // belongs.
        let prefix = Array((name.map { $0.folder + "/" } ?? "").utf8)
        guard let index else { return }
        var cursor = try index.projectionCursor(from: String(decoding: prefix, as: UTF8.self))
        while try cursor.next() {
            guard let row = cursor.row else {
                // Reading the whole record throws an error that names the damage.
                _ = try cursor.wholeRecord()
                continue
            }
            guard row.path.starts(with: prefix) else { break }
            let isDeeper =
                name != nil && row.path.dropFirst(prefix.count).contains(UInt8(ascii: "/"))
            if !isDeeper { note(row.path) }
        }
    }

    /// Adds the folder of a target to the folders that are searched.
    mutating func note(_ target: Target) {
        var path = target.path
        path.withUTF8 { note($0) }
    }

    /// Adds the folder of a target's path. A path in the same folder as the last one costs a
    /// comparison.
    mutating func note(_ path: UnsafeBufferPointer<UInt8>) {
        guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return }
        let folder = UnsafeBufferPointer(rebasing: path[..<slash])
        if !folder.elementsEqual(last) {
            last = Array(folder)
            folders.insert(String(decoding: last, as: UTF8.self))
        }
        guard path.count - slash - 1 > ConflictScan.longName || path.count > ConflictScan.longPath
        else { return }
        if let target = try? Target(String(decoding: path, as: UTF8.self)) { long.append(target) }
    }

    /// The existing conflict copies, in the order of their paths' bytes. Throws `MirrorError`.
    ///
    /// - Parameter place: the path below the root in which the folders are searched, with a slash
    ///   at its end. By default it is the root.
    func copies(
        in view: TreeView, _ wanted: Wanted? = nil, beneath place: String = ""
    ) throws -> [ConflictCopy] {
        guard let root = view.root else { return [] }
        var copies: [ConflictCopy] = []
        for folder in folders {
            guard let open = try? root.openFolder(place + folder),
                let names = try? open.names(path: folder, containing: ConflictCopy.mark)
            else { continue }
            for name in names where ConflictCopy.mayBe(name) {
                guard let copy = try? Target(folder + "/" + name),
                    let target = ConflictCopy.target(of: name, in: folder, long: long),
                    view.shard.has(target.path.utf8),
                    let status = try? FileStatus(
                        folder: open.number, name: name, path: copy.path), status.isFile,
                    wanted?.wants(copy) != true, try view.index?.record(for: copy) == nil
                else { continue }
                copies.append(ConflictCopy(target: target, copy: copy, size: status.stamp.size))
            }
        }
        return copies.sorted { $0.copy < $1.copy }
    }
}
