package import MirrorModel

extension SourceKey {
    /// The key of a URL: its query is replaced by the query's sha256.
    package init(_ url: SourceURL) {
        var text = url.withoutSecrets
        if let query = url.query {
            text += "?" + ByteHasher.digest(.sha256, of: Array(query.utf8)).hex
        }
        self.init(text: text)
    }
}
