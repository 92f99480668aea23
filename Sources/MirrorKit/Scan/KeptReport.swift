internal import MirrorModel
internal import MirrorStore

/// What is told of resources that are kept as they are, one after the other.
///
/// What their bytes were held against is asked for in the order of the files' paths: one walk over
/// the index instead of a query for each of a million files.
struct KeptReport: ~Copyable {
    /// How many are told before it is looked whether somebody reads them, and how many may be unread.
    static let together = 512
    static let mostUnread = 8192

    private let plan: Plan
    private var position = 0
    /// Nil where the index cannot be read: what cannot be read vouches for nothing.
    private var cursor: ProjectionCursor?
    private var isAtRow = false

    init(_ plan: Plan, _ index: Index) {
        self.plan = plan
        guard plan.steps.contains(where: \.isKept) else {
            position = plan.steps.endIndex
            return
        }
        cursor = try? index.cursorOfVerifications()
        isAtRow = (try? cursor?.next()) ?? false
    }

    /// What is told of the next one; nil after the last.
    mutating func next() -> Event.Done? {
        while position < plan.steps.endIndex {
            let step = plan.steps[position]
            position += 1
            guard step.isKept else { continue }
            // A pinned file is kept only where the index knows that it has the digest.
            let isPinned = plan.resource(of: step)?.pin != nil
            let recorded = verification(of: step.target)
            var done = Event.Done(
                target: step.target, step: step.kind, outcome: .kept, reason: step.reason,
                verified: isPinned ? .digest : recorded)
            if case .recorded(let sha256) = step.existing { done.sha256 = sha256 }
            return done
        }
        return nil
    }

    /// The verification of a target's row; none where there is no row.
    private mutating func verification(of target: Target) -> Verification {
        var path = target.path
        return path.withUTF8 { path in
            while isAtRow, let row = cursor?.row {
                let order = ByteOrder.compare(row.path, path)
                if order == 0 { return cursor?.verification ?? .none }
                if order > 0 { break }
                isAtRow = (try? cursor?.next()) ?? false
            }
            return .none
        }
    }
}
