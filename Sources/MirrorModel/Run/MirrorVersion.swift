/// The version of mirror, the command and the library: the only place that states it.
public enum MirrorVersion {
    /// By the rules of Semantic Versioning, e.g. `0.2.0`.
    public static let current = "0.2.0"
}
