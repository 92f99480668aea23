/// The findings of a scan about a range of the targets, looked at by one thread.
struct ScanFindings: Sendable {
    var steps: StepList
    var orphans = OrphanTable()
    /// Further orphans, whose files could not be read.
    ///
    /// No step uses their bytes. A removal looks at each file again, with the recorded stamp, and
    /// reports why it cannot remove the file.
    var unreadOrphans = OrphanTable()
    /// Orphans whose files were changed or could not be read, with the files' stamps. Unread orphans are
    /// in `unreadOrphans` too.
    var doubtfulOrphans: [(target: Target, stamp: FileStamp)] = []
    /// Steps that need bytes which the tree may have under other names.
    ///
    /// `situation` is the position in `situations` of the situation that the step was decided from.
    /// -1 stands for a plain fetch, whose situation can be made again. An entry takes eight bytes,
    /// because there may be a million plain fetches.
    private(set) var searching: [(step: Int32, situation: Int32)] = []
    private var situations: [Situation] = []
    /// The number of rows that the index has of each owner.
    var owned: [String: Int] = [:]
    /// Orphans whose files are also the files of wanted targets, under another spelling.
    var respelled: Set<Target> = []
    /// The bytes of orphans that steps reuse although no digest pins them.
    var orphanBytes: [Target: Digest] = [:]
    /// Orphans whose rows are removed, because their files are gone or belong to other targets.
    var forgotten: [Target] = []
    /// The owners of targets that have more owners than the manifest of the step.
    var owners: [Target: Owners] = [:]
    /// The remaining owners of targets that manifests of the run no longer name.
    var released: [Target: Owners] = [:]
    /// The path of the range's first row. `nil` if it has no row.
    var firstRow: [UInt8]?
    /// The path of the first row after the range, which is the next one's first. `nil` if there
    /// is none.
    var rowBehind: [UInt8]?
    /// Targets for which another manifest wants a different file.
    var disputes: [TargetDispute] = []

    init(of manifests: [Manifest]) { steps = StepList(of: manifests) }

    /// Notes that the next step needs bytes. A `nil` situation stands for a plain fetch.
    mutating func search(with situation: Situation?) {
        searching.append((Int32(steps.count), situation == nil ? -1 : Int32(situations.count)))
        if let situation { situations.append(situation) }
    }

    /// The situation with a number from `searching`. Returns nil for a plain fetch.
    func situation(_ number: Int32) -> Situation? {
        number < 0 ? nil : situations[Int(number)]
    }

    /// Adds the findings of the next range.
    mutating func append(_ next: consuming ScanFindings) {
        let (steps, known) = (Int32(steps.count), Int32(situations.count))
        let rest = next.steps
        next.steps = StepList()
        self.steps.append(contentsOf: consume rest)
        orphans.append(contentsOf: next.orphans)
        unreadOrphans.append(contentsOf: next.unreadOrphans)
        doubtfulOrphans += next.doubtfulOrphans
        searching += next.searching.map { search in
            (search.step + steps, search.situation < 0 ? -1 : search.situation + known)
        }
        situations += next.situations
        owned.merge(next.owned, uniquingKeysWith: +)
        forgotten += next.forgotten
        owners.merge(next.owners) { $1 }
        released.merge(next.released) { $1 }
        disputes += next.disputes
    }
}

extension ScanFindings {
    /// Leaves out orphans that share their files with wanted targets: a removal would remove both.
    ///
    /// Such orphans exist if a file system folds case or composes accents. If the wanted target is
    /// a conflict, its orphan is not left out: the orphan's bytes are an old version that no target
    /// needs. The row of an orphan that is left out is forgotten if the file of the wanted target
    /// is known. If the target is fetched for the first time, the next run forgets the row. Throws
    /// `MirrorError` with `cancelled`.
    mutating func leaveRespelledOrphans(of view: ScanView) throws {
        guard let root = view.root else { return }
        var names = StatCursor(root)
        var paths = StatCursor(root)
        var candidates: [UInt64: [(target: Target, stamp: FileStamp)]] = [:]
        for number in 0..<(orphans.count + doubtfulOrphans.count) {
            if number % 4096 == 0 { try view.stopIfCancelled() }
            let (target, stamp) =
                number < orphans.count
                ? (orphans.target(at: number), orphans.stamp(at: number))
                : doubtfulOrphans[number - orphans.count]
            // Letters beyond ASCII need a case table, so each path that has them is a candidate.
            let folder = PathText.folder(of: target.path).utf8.count
            guard
                target.path.utf8.contains(where: { $0 >= 0x80 })
                    || ScanFindings.finds(target, swappedFrom: folder, stamp, &names)
                    || ScanFindings.finds(
                        target, swappedFrom: target.area.rawValue.utf8.count, stamp, &paths)
            else { continue }
            candidates[FoldedHashes.hash(of: target), default: []].append((target, stamp))
        }
        if candidates.isEmpty { return }
        var settled: [Target] = []
        var all: Set<Target> = []
        for (number, entry) in view.wanted.entries.enumerated() {
            if number % 4096 == 0 { try view.stopIfCancelled() }
            let hash = view.wanted.withPath(of: entry) { FoldedHashes.hash(ofPath: $0) }
            for orphan in candidates[hash] ?? [] {
                let target = view.wanted.target(of: entry)
                guard CaseFolding.fold(target.path) == CaseFolding.fold(orphan.target.path),
                    case .file(let stamp) = try? names.look(at: target), stamp == orphan.stamp,
                    let position = steps.position(of: target)
                else { continue }
                switch steps[position].existing {
                case .ours, .recorded:
                    settled.append(orphan.target)
                    all.insert(orphan.target)
                case .foreign(_, .some) where steps[position].kind == .conflict: break
                case .nothing, .foreign, .drifted, .obstacle: all.insert(orphan.target)
                }
            }
        }
        if all.isEmpty { return }
        orphans.removeAll { all.contains($0) }
        unreadOrphans.removeAll { all.contains($0) }
        forgotten += settled.sorted()
        respelled = all
    }

    /// Whether a path with swapped case of its ASCII letters from `start` on leads to the same
    /// file.
    ///
    /// `start` selects the name only, or the name with its folders. The check is cheap, and false
    /// on most file systems. Each of the two uses has its own cursor, so that the cursor often has
    /// the folder open already.
    private static func finds(
        _ target: Target, swappedFrom start: Int, _ stamp: FileStamp, _ cursor: inout StatCursor
    ) -> Bool {
        var path = Array(target.path.utf8)
        for at in start..<path.count
        where (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(path[at] | 0x20) {
            path[at] ^= 0x20
        }
        guard let other = try? Target(String(decoding: path, as: UTF8.self)), other != target,
            case .file(let seen) = try? cursor.look(at: other)
        else { return false }
        return seen == stamp
    }
}
