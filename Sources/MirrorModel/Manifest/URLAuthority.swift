/// Scheme, user, host and port: one object for many URLs, which differ in path and query only.
final class URLAuthority: Sendable {
    let origin: Origin
    let userInfo: String?
    /// The origin as text: it is asked for several times a transfer.
    let site: String
    /// A hash of host and port: there is a request to the same authority for each of many files.
    let serverHash: Int

    init(_ origin: Origin, userInfo: String? = nil) {
        self.origin = origin
        self.userInfo = userInfo
        site = origin.description
        var hasher = Hasher()
        hasher.combine(origin.host)
        hasher.combine(origin.port)
        serverHash = hasher.finalize()
    }
}

extension URLAuthority: Hashable {
    static func == (one: URLAuthority, other: URLAuthority) -> Bool {
        one === other || (one.origin == other.origin && one.userInfo == other.userInfo)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(origin)
        hasher.combine(userInfo)
    }
}
