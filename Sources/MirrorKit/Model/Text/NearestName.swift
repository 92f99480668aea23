/// Finds the known name that a misspelt name most likely means.
package enum NearestName {
    /// Returns the nearest candidate. Returns nil if no candidate is near enough.
    ///
    /// A candidate is near if its edit distance is at most a third of the name's length. So
    /// `sha265` suggests `sha256`, and `colour` suggests no name.
    ///
    /// - Parameter longest: how many characters of the name count, because the time grows with the
    ///   square of its length.
    package static func suggestion(
        for name: String, among candidates: [String], longest: Int = 40
    ) -> String? {
        let word = Array(name.lowercased().unicodeScalars.prefix(longest))
        var best: (name: String, distance: Int)?
        for candidate in candidates {
            let distance = distance(word, Array(candidate.lowercased().unicodeScalars))
            if distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        guard let best, best.distance <= max(1, word.count / 3) else { return nil }
        return best.name
    }

    /// The number of insertions, deletions, replacements and swaps of neighbours between two names.
    ///
    /// This is the optimal string alignment distance.
    private static func distance(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...b.count)
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                var cost = min(
                    last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                    cost = min(cost, beforeLast[j - 1] + 1)
                }
                row.append(cost)
            }
            beforeLast = last
            last = row
        }
        return last[b.count]
    }
}

// MARK: A tag or a target in an option that no manifest of the run has

extension NearestName {
    /// How many names a misspelt one is compared with; more would take seconds.
    private static let mostCandidates = 20_000

    /// Returns the sentence about a word that is no tag of a resource.
    ///
    /// - Parameter known: every tag of the manifests.
    static func sentence(
        tag: String, known: Set<String>, in manifests: [Manifest] = []
    ) -> String {
        let nearest =
            nearest(tag, among: known.sorted()) ?? nearestPattern(to: tag, in: manifests)
        return "\(Quoted(tag)): no resource has this tag. " + advice(nearest, tags: known)
    }

    private static func advice(_ suggestion: String?, tags: Set<String>) -> String {
        if let suggestion { return "Did you mean \(suggestion)?" }
        if tags.isEmpty { return "The manifests have no tags." }
        let shown = tags.sorted().prefix(8).joined(separator: ", ")
        return "There are: \(shown)\(tags.count > 8 ? " and \(tags.count - 8) more" : "")."
    }

    /// Returns the sentence about a pattern that matches no target of the manifests.
    static func sentence(pattern word: String, in manifests: [Manifest]) -> String {
        let tags = Selection.tags(in: manifests).sorted()
        let nearest = nearest(word, among: tags) ?? nearestPattern(to: word, in: manifests)
        return "\(Quoted(word)): no target matches this pattern. "
            + (nearest.map { "Did you mean \($0)?" }
                ?? "* stands for any text within a folder, ** for any folders: 'Caches/py/**'. mirror plan -v lists the targets.")
    }

    /// Returns the pattern that a word most likely means, in quotation marks for a shell.
    ///
    /// Each name of its path is replaced by the nearest one in its folder. The path may lack its
    /// area, and the path of a folder means all files in it. Returns nil if no such pattern matches
    /// a target.
    private static func nearestPattern(to word: String, in manifests: [Manifest]) -> String? {
        for area in [""] + Area.allCases.map({ $0.rawValue + "/" }) {
            guard let path = nearestPath(to: area + word, in: manifests) else { continue }
            for pattern in [path, path + "/**"]
            where TargetPattern(pattern)?.matchesTarget(in: manifests) == true {
                return "'\(pattern)'"
            }
        }
        return nil
    }

    /// Returns a path with the nearest names up to its first wildcard. Returns nil if there are none.
    private static func nearestPath(to path: String, in manifests: [Manifest]) -> String? {
        var known: [String] = []
        var rest = path.split(separator: "/").map(String.init)[...]
        while let name = rest.first, !name.utf8.contains(where: "*?[\\".utf8.contains) {
            guard let nearest = nearestName(to: name, beneath: known, in: manifests) else {
                return nil
            }
            known.append(nearest)
            rest = rest.dropFirst()
        }
        return (known + rest).joined(separator: "/")
    }

    /// Returns the nearest name of a file or a folder in a folder.
    private static func nearestName(
        to name: String, beneath folders: [String], in manifests: [Manifest]
    ) -> String? {
        let folder = Array(folders.map { $0 + "/" }.joined().utf8)
        var last: [UInt8] = []
        var names: Set<String> = []
        for manifest in manifests {
            for position in manifest.resources.indices {
                manifest.resources.withPath(at: position) { path in
                    guard path.starts(with: folder) else { return }
                    let found = path[folder.count...].prefix { $0 != UInt8(ascii: "/") }
                    // Neighbours mostly lie in the same folder.
                    if found.elementsEqual(last) { return }
                    last = Array(found)
                    names.insert(String(decoding: found, as: UTF8.self))
                }
            }
        }
        return names.contains(name) ? name : nearest(name, among: names.sorted())
    }

    /// Returns the nearest of many candidates.
    private static func nearest(
        _ name: String, among candidates: some Sequence<String>
    ) -> String? {
        let length = name.utf8.count
        let similar = candidates.lazy
            .filter { abs($0.utf8.count - length) <= max(1, length / 3) }.prefix(mostCandidates)
        return suggestion(for: name, among: Array(similar), longest: 512)
    }

    /// Returns the sentence about a target that no manifest wants.
    package static func sentence(target: Target, among known: some Sequence<Target>) -> String {
        let nearest = nearest(target.path, among: known.lazy.map(\.path))
        return "\(Quoted(target.path)): no manifest wants this target. "
            + (nearest.map { "Did you mean \($0)?" }
                ?? "mirror plan -v lists those that are wanted.")
    }
}
