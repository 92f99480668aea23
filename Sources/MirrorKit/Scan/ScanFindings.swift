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
