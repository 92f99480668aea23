extension SourceURL {
    /// The URL without user name and password.
    var withoutUserInfo: SourceURL {
        if userInfo == nil { return self }
        return SourceURL(URLAuthority(origin), pathAndQuery: pathAndQuery)
    }

    /// User name and password, percent-decoded; nil when the URL has none. Never printed.
    public var credentials: (user: String, password: String)? {
        guard let userInfo else { return nil }
        let halves = userInfo.utf8.split(
            separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        let texts = halves.map { String(decoding: PercentEncoding.decode($0), as: UTF8.self) }
        return (texts[0], texts.count > 1 ? texts[1] : "")
    }
}
