/// The treatment of untracked or edited bytes at a target when another version is wanted there.
public enum ConflictPolicy: String, Sendable, CaseIterable {
    /// The existing bytes get a conflict name beside the target.
    case rename
    /// The existing bytes stay, and the resource fails.
    case keep
    /// The new version replaces the existing bytes.
    case replace
}
