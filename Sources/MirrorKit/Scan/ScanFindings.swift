internal import MirrorModel

/// What was found in a shard of the targets.
struct ScanFindings: Sendable {
    var steps: StepList
    var orphans = OrphanTable()
    /// How many more there are that could not be read, and so are left.
    var unreadOrphans = 0
    /// Steps that need bytes, which the tree may have under other names.
    private(set) var searching: [Search] = []
    private var situations: [Situation] = []
    /// How many rows the index has of each owner.
    var owned: [String: Int] = [:]
    /// Rows of orphans whose files are gone.
    var forgotten: [Target] = []
    /// Who owns targets, where that is not only the manifest of the step.
    var owners: [Target: Owners] = [:]
    /// Who still owns files that manifests of the run have let go.
    var released: [Target: Owners] = [:]
    /// Targets that another manifest wants otherwise.
    var disputes: [TargetDispute] = []

    /// A step that needs bytes: eight bytes for a plain fetch, of which there may be a million.
    struct Search {
        var step: Int32
        /// The position of what it was decided from; -1 for a plain fetch, whose situation can be
        /// put together again.
        fileprivate var situation: Int32
    }

    init(of manifests: [Manifest]) { steps = StepList(of: manifests) }

    /// Notes that the step that comes next needs bytes; nil says that it is a plain fetch.
    mutating func search(with situation: Situation?) {
        searching.append(
            Search(
                step: Int32(steps.count),
                situation: situation == nil ? -1 : Int32(situations.count)))
        if let situation { situations.append(situation) }
    }

    /// What a step was decided from; nil for a plain fetch.
    func situation(of search: Search) -> Situation? {
        search.situation < 0 ? nil : situations[Int(search.situation)]
    }

    /// Adds what was found in the next shard.
    mutating func append(_ next: consuming ScanFindings) {
        let (steps, known) = (Int32(steps.count), Int32(situations.count))
        let rest = next.steps
        next.steps = StepList()
        self.steps.append(contentsOf: consume rest)
        orphans.append(contentsOf: next.orphans)
        unreadOrphans += next.unreadOrphans
        searching += next.searching.map { search in
            Search(
                step: search.step + steps,
                situation: search.situation < 0 ? -1 : search.situation + known)
        }
        situations += next.situations
        owned.merge(next.owned, uniquingKeysWith: +)
        forgotten += next.forgotten
        owners.merge(next.owners) { $1 }
        released.merge(next.released) { $1 }
        disputes += next.disputes
    }
}
