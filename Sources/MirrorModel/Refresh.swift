/// When a resource that is there is asked for again.
public enum Refresh: Sendable, Hashable {
    /// On every run.
    case always
    /// Never, once it is there.
    case never
    /// As the server's Cache-Control and Expires say (RFC 9111 §4.2).
    case http
    /// When so many seconds have gone by since it was last confirmed; greater than 0.
    case after(seconds: Int64)
}
