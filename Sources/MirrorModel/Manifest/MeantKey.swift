/// The names that other tools give to the keys of a resource.
package enum MeantKey {
    /// The key that a foreign name means; nil when the name means none.
    ///
    /// - Parameters:
    ///   - name: the name as written, in any case.
    ///   - value: the value as written, where it is a text: a digest's length says which one it is.
    package static func key(for name: String, value: String?) -> String? {
        let name = name.lowercased()
        if digestNames.contains(name) { return digestKey(of: value ?? "") }
        return names.first { $0.value.contains(name) }?.key
    }

    private static let digestNames: Set<String> = [
        "sha", "hash", "checksum", "digest", "sum", "sha2", "hexdigest",
    ]

    private static let names: [String: Set<String>] = [
        "path": [
            "dest", "destination", "dst", "filename", "file", "output", "out", "target", "to",
            "name",
            "save_as", "saveas", "localpath", "local_path",
        ],
        "url": ["uri", "href", "link", "src", "source", "location", "download", "address"],
        "size": ["bytes", "length", "filesize", "file_size", "contentlength"],
        "mirrors": ["urls", "alternatives", "alternates", "fallbacks"],
        "type": ["mime", "mimetype", "mediatype", "contenttype", "content-type"],
        "refresh": ["ttl", "maxage", "max-age", "expires"],
    ]

    private static func digestKey(of value: String) -> String {
        let lowered = value.lowercased()
        for name in ["sha256", "sha512", "sha1", "md5"] where lowered.hasPrefix(name) {
            return lowered.hasPrefix(name + "-") ? "integrity" : name
        }
        switch value.utf8.count {
        case 128: return "sha512"
        case 40: return "sha1"
        case 32: return "md5"
        default: return "sha256"
        }
    }
}
