/// The settings of a session: the options of `sync`, with their defaults.
public struct Configuration: Sendable {
    /// The greatest number of transfers at once.
    public var jobs = 128
    /// The greatest number of transfers at once to one host.
    ///
    /// Nil finds the number for each host by measuring: up to 64 connections, or 100 streams of
    /// HTTP/2.
    public var perHost: Int?
    /// Connections for one large file.
    public var segments = SegmentLimit.automatic
    /// The rules for retries, waits, stalls and sizes.
    public var transfer = TransferPolicy()
    /// Bytes a second over all transfers, which may differ by time of day; nil means no limit.
    public var rateLimit: RateLimit?
    /// The number of received bytes after which a run ends; nil means no limit.
    public var transferLimit: Int64?
    /// Whether mirror uses a connection only if its address is public.
    public var publicAddressesOnly = false
    /// Certificates to trust instead of the system's: a PEM file's path.
    public var certificateAuthorities: String?
    /// A netrc file's path; nil reads none.
    public var netrc: String?
    /// The number of bytes that must stay free on each file system.
    public var leastFreeSpace: Int64 = 64 << 20
    /// The treatment of untracked or edited files at a target.
    public var onConflict = ConflictPolicy.rename

    /// The defaults.
    public init() {}
}
