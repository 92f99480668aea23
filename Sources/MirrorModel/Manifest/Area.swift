/// One of the three folders of a root, each with its own promise about how long files stay.
public enum Area: String, Sendable, Hashable, CaseIterable {
    /// Durable files: never evicted, and a local edit is never lost.
    case documents = "Documents"
    /// Purgeable files: evicted under a quota and fetched again when needed.
    case caches = "Caches"
    /// Throw-away files, and every unfinished download.
    case tmp = "tmp"
}
