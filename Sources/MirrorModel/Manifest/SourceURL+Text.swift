extension SourceURL {
    /// The whole URL as a manifest has it, user name and password included. Never printed.
    public var textWithSecrets: String {
        guard let userInfo else { return requestText }
        let start = scheme.rawValue + "://"
        return start + userInfo + "@" + requestText.dropFirst(start.count)
    }

    /// The URL as a reference to resolve against a folder's URL (RFC 3986 §4.2).
    ///
    /// Only files beneath the folder get a relative reference: they move with the folder.
    public func reference(from folder: SourceURL?) -> String {
        guard let folder, scheme == .file, folder.scheme == .file, folder.path.last == "/",
            path.utf8.starts(with: folder.path.utf8)
        else { return textWithSecrets }
        let rest = String(decoding: path.utf8.dropFirst(folder.path.utf8.count), as: UTF8.self)
        guard let first = rest.utf8.first, first != UInt8(ascii: "/") else {
            return textWithSecrets
        }
        // A colon in the first segment would make that segment a scheme.
        let segment = rest.utf8.prefix { $0 != UInt8(ascii: "/") }
        return segment.contains(UInt8(ascii: ":")) ? "./" + rest : rest
    }
}
