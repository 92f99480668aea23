/// The reconciler's decision for one situation.
public struct Decision: Sendable, Hashable {
    /// The action.
    public var kind: Step.Kind
    /// Why.
    public var reason: Reason
    /// Where the bytes come from.
    public var means: Step.Means
    /// The existing file.
    public var existing: Step.ExistingFile

    init(
        _ kind: Step.Kind, _ reason: Reason, means: Step.Means, existing: Step.ExistingFile
    ) {
        self.kind = kind
        self.reason = reason
        self.means = means
        self.existing = existing
    }
}
