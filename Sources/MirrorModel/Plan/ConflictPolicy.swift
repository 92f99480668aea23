/// What happens to other people's bytes at a target that another version is wanted for.
public enum ConflictPolicy: String, Sendable, CaseIterable {
    /// They get a conflict name beside the target.
    case rename
    /// They stay, and the resource fails.
    case keep
    /// They are replaced.
    case replace
}
