/// The events for resources that are kept as they are, one after another.
///
/// The report reads how each file was verified in the order of the paths. So it needs one walk over
/// the index instead of a query for each of a million files.
struct KeptReport: ~Copyable {
    /// `together`: events that are sent between two checks of the reader. `mostUnread`: unread
    /// events at which the run waits.
    static let together = 512
    static let mostUnread = 8192

    /// The result of `next` for a kept resource.
    enum Entry {
        case kept(Event.Done)
        /// The file is not the one that the plan keeps.
        case changed(position: Int, MirrorError)
    }

    /// Whether the report looks at each file again.
    var looks = false
    /// How many resources were reported.
    private(set) var count = 0
    private let plan: Plan
    private var position = 0
    /// The rows of the index. `nil` if the index cannot be read; then no verification is reported.
    private var cursor: ProjectionCursor?
    private var isAtRow = false
    private var files: StatCursor

    init(_ plan: Plan, _ engine: Engine) {
        self.plan = plan
        files = StatCursor(engine.root)
        guard plan.steps.contains(where: \.isKept) else {
            position = plan.steps.endIndex
            return
        }
        cursor = try? engine.index.projectionCursor(from: "")
        isAtRow = (try? cursor?.next()) ?? false
    }

    /// The next kept resource. Returns nil after the last.
    mutating func next() -> Entry? {
        while position < plan.steps.endIndex {
            let at = position
            let step = plan.steps[at]
            position += 1
            guard step.isKept else { continue }
            count += 1
            let row = row(of: step.target)
            if looks, let error = change(of: step, row) {
                return .changed(position: at, error)
            }
            // A pinned file is kept only if the index knows that the file has the pinned digest.
            let isPinned = plan.resource(of: step)?.pin != nil
            let recorded = row == nil ? .none : cursor?.verification ?? .none
            var done = Event.Done(
                target: step.target, step: step.kind, outcome: .kept, reason: step.reason,
                verified: isPinned ? .digest : recorded)
            if case .recorded(let sha256) = step.existing { done.sha256 = sha256 }
            return .kept(done)
        }
        return nil
    }

    /// Why a file is not the one that the plan keeps. Returns nil if it is that file.
    private mutating func change(of step: Step, _ row: RowProjection?) -> MirrorError? {
        guard case .recorded(let sha256) = step.existing, let row,
            // Another run may have put another version at the target.
            row.sha256.elementsEqual(sha256.bytes)
        else { return files.change(of: step.target, since: step.seen) }
        if files.isUnchanged(row.path, since: row.stamp) { return nil }
        return files.change(of: step.target, since: row.stamp)
    }

    /// The row of a target. Returns nil if there is none.
    private mutating func row(of target: Target) -> RowProjection? {
        var path = target.path
        return path.withUTF8 { path in
            while isAtRow, let row = cursor?.row {
                let order = ByteOrder.compare(row.path, path)
                if order == 0 { return row }
                if order > 0 { break }
                isAtRow = (try? cursor?.next()) ?? false
            }
            return nil
        }
    }
}
