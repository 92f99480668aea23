/// The reconciler's decision for one situation.
public struct Decision: Sendable {
    /// The four facts, as an object: the steps of a plan are read and passed on very often, and a
    /// copy then counts one reference.
    private final class Content: Sendable {
        let kind: Step.Kind
        let reason: Reason
        let means: Step.Means
        let existing: Step.ExistingFile
        /// What is asked of a transfer again and again.
        let local: LocalVersion?
        let hasPart: Bool
        let row: IndexRecord?

        init(
            _ kind: Step.Kind, _ reason: Reason, _ means: Step.Means,
            _ existing: Step.ExistingFile, _ row: IndexRecord?
        ) {
            self.kind = kind
            self.reason = reason
            self.means = means
            self.existing = existing
            self.row = row
            if case .transfer(let part, let local) = means {
                (self.local, hasPart) = (local, part != nil)
            } else {
                (local, hasPart) = (nil, false)
            }
        }
    }

    private var content: Content

    init(
        _ kind: Step.Kind, _ reason: Reason, means: Step.Means, existing: Step.ExistingFile,
        row: IndexRecord? = nil
    ) {
        content = Content(kind, reason, means, existing, row)
    }

    /// The decision that nearly all steps of a first run share: nothing is there, so all is fetched.
    package static let plainFetch = Decision(
        .fetch, .missing, means: .transfer(part: nil, ifChangedSince: nil), existing: .nothing)

    /// The action.
    public var kind: Step.Kind {
        get { content.kind }
        set { content = Content(newValue, reason, means, existing, row) }
    }

    /// Why.
    public var reason: Reason {
        get { content.reason }
        set { content = Content(kind, newValue, means, existing, row) }
    }

    /// Where the bytes come from.
    public var means: Step.Means {
        get { content.means }
        set { content = Content(kind, reason, newValue, existing, row) }
    }

    /// The version that a conditional request is about.
    var local: LocalVersion? { content.local }

    /// The row of the file that a source is asked about, as it was when the plan was made.
    var row: IndexRecord? { content.row }

    /// Whether a transfer continues a part.
    var hasPart: Bool { content.hasPart }

    /// The existing file.
    public var existing: Step.ExistingFile {
        get { content.existing }
        set { content = Content(kind, reason, means, newValue, row) }
    }
}

extension Decision: Hashable {
    /// Whether all four are equal; the row goes with them.
    public static func == (left: Decision, right: Decision) -> Bool {
        left.content === right.content
            || left.kind == right.kind && left.reason == right.reason && left.means == right.means
                && left.existing == right.existing
    }

    /// Hashes all four.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(reason)
        hasher.combine(means)
        hasher.combine(existing)
    }
}
