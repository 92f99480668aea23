/// A tag or a target in an option that no manifest of the run has.
package enum UnknownName {
    /// How many targets a misspelt one is compared with; more would take seconds.
    private static let mostCandidates = 20_000

    /// The sentence about a tag that no resource has; nil when all are known.
    ///
    /// - Parameters:
    ///   - asked: tags, in the order in which they are looked at.
    ///   - known: every tag of the manifests.
    package static func sentence(
        asked: [Set<String>], known: Set<String>
    ) -> String? {
        for tags in asked {
            guard let unknown = tags.subtracting(known).min() else { continue }
            let nearest = NearestName.suggestion(for: unknown, among: known.sorted())
            return "\(Quoted(unknown)): no resource has this tag. "
                + advice(nearest, tags: known)
        }
        return nil
    }

    private static func advice(_ suggestion: String?, tags: Set<String>) -> String {
        if let suggestion { return "Did you mean \(suggestion)?" }
        if tags.isEmpty { return "The manifests have no tags." }
        let shown = tags.sorted().prefix(8).joined(separator: ", ")
        return "There are: \(shown)\(tags.count > 8 ? " and \(tags.count - 8) more" : "")."
    }

    /// The sentence about a target that nothing wants.
    package static func sentence(target: Target, among known: some Sequence<Target>) -> String {
        let length = target.path.utf8.count
        let candidates = known.lazy.map(\.path)
            .filter { abs($0.utf8.count - length) <= max(1, length / 3) }.prefix(mostCandidates)
        let nearest = NearestName.suggestion(
            for: target.path, among: Array(candidates), longest: 512)
        return "\(Quoted(target.path)): no manifest wants this target. "
            + (nearest.map { "Did you mean \($0)?" }
                ?? "mirror plan -v lists those that are wanted.")
    }
}

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
