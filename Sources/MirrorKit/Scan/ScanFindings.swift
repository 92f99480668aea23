internal import MirrorModel

/// The findings of a scan about a shard of the targets.
struct ScanFindings: Sendable {
    var steps: StepList
    var orphans = OrphanTable()
    /// Further orphans, which could not be read. Nothing is made of their bytes; with their recorded
    /// stamps, a removal looks at each once more, and says why it cannot go.
    var unreadOrphans = OrphanTable()
    /// Rows of orphans whose files were changed or could not be read, with the files' stamps.
    var doubtfulOrphans: [(target: Target, stamp: FileStamp)] = []
    /// Steps that need bytes, which the tree may have under other names, with the situations that they
    /// were decided from; -1 for a plain fetch, whose situation can be made again.
    ///
    /// An entry takes eight bytes, because there may be a million plain fetches.
    private(set) var searching: [(step: Int32, situation: Int32)] = []
    private var situations: [Situation] = []
    /// The number of rows that the index has of each owner.
    var owned: [String: Int] = [:]
    /// Orphans whose files are those of wanted targets.
    var respelled: Set<Target> = []
    /// The bytes of orphans that steps take over although no digest pins them.
    var orphanBytes: [Target: Digest] = [:]
    /// Rows of orphans whose files are gone, or are those of other targets.
    var forgotten: [Target] = []
    /// The owners of targets, if they are more than the manifest of the step.
    var owners: [Target: Owners] = [:]
    /// The remaining owners of files that manifests of the run have given up.
    var released: [Target: Owners] = [:]
    /// The path of the shard's first row; nil where it has none.
    var firstRow: [UInt8]?
    /// The path of the row behind the shard's, which is the next shard's first; nil where there is none.
    var rowBehind: [UInt8]?
    /// Targets that another manifest wants differently.
    var disputes: [TargetDispute] = []

    init(of manifests: [Manifest]) { steps = StepList(of: manifests) }

    /// Notes that the next step needs bytes; nil stands for a plain fetch.
    mutating func search(with situation: Situation?) {
        searching.append((Int32(steps.count), situation == nil ? -1 : Int32(situations.count)))
        if let situation { situations.append(situation) }
    }

    /// The situation that a step was decided from; nil for a plain fetch.
    func situation(_ number: Int32) -> Situation? {
        number < 0 ? nil : situations[Int(number)]
    }

    /// Adds the findings of the next shard.
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
