internal import MirrorModel
internal import MirrorStore

/// The events for resources that are kept as they are, one after the other.
///
/// The way in which each file was verified is read in the order of the paths: one walk over the
/// index instead of a query for each of a million files.
struct KeptReport: ~Copyable {
    /// The number of events sent between two looks at the reader, and the most that may be unread.
    static let together = 512
    static let mostUnread = 8192

    private let plan: Plan
    private var position = 0
    /// Nil if the index cannot be read; then no verification is reported.
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

    /// The event for the next kept resource; nil after the last.
    mutating func next() -> Event.Done? {
        while position < plan.steps.endIndex {
            let step = plan.steps[position]
            position += 1
            guard step.isKept else { continue }
            // A pinned file is kept only if the index knows that it has the digest.
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

    /// The verification of a target's row; none if there is no row.
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
