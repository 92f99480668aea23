/// How a session works: the options of `sync`, with their defaults.
public struct Configuration: Sendable {
    /// Transfers at once.
    public var jobs = 128
    /// Transfers at once to one host; nil finds the number for each by measuring: up to 50 connections,
    /// or 100 streams of HTTP/2.
    public var perHost: Int?
    /// Connections for one large file.
    public var segments = SegmentLimit.automatic
    /// Retries, waits, stalls, sizes.
    public var transfer = TransferPolicy()
    /// Bytes a second over all transfers; nil is no limit.
    public var rateLimit: Int64?
    /// Received bytes after which a run ends; nil is no limit.
    public var transferLimit: Int64?
    /// Whether only connected addresses that are public are talked to.
    public var publicAddressesOnly = false
    /// Certificates to trust instead of the system's: a PEM file's path.
    public var certificateAuthorities: String?
    /// A netrc file's path; nil reads none.
    public var netrc: String?
    /// Bytes that stay free on each file system.
    public var leastFreeSpace: Int64 = 64 << 20
    /// What happens to a file that someone else put at, or edited at, a target.
    public var onConflict = ConflictPolicy.rename

    /// The defaults.
    public init() {}
}
