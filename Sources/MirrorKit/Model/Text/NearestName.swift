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
    /// How many targets a misspelt target is compared with; more would take seconds.
    private static let mostCandidates = 20_000

    /// Returns the sentence about a tag that no resource has.
    ///
    /// - Parameter known: every tag of the manifests.
    static func sentence(tag: String, known: Set<String>) -> String {
        "\(Quoted(tag)): no resource has this tag. "
            + advice(suggestion(for: tag, among: known.sorted()), tags: known)
    }

    private static func advice(_ suggestion: String?, tags: Set<String>) -> String {
        if let suggestion { return "Did you mean \(suggestion)?" }
        if tags.isEmpty { return "The manifests have no tags." }
        let shown = tags.sorted().prefix(8).joined(separator: ", ")
        return "There are: \(shown)\(tags.count > 8 ? " and \(tags.count - 8) more" : "")."
    }

    /// Returns the sentence about a target that no manifest wants.
    package static func sentence(target: Target, among known: some Sequence<Target>) -> String {
        let length = target.path.utf8.count
        let candidates = known.lazy.map(\.path)
            .filter { abs($0.utf8.count - length) <= max(1, length / 3) }.prefix(mostCandidates)
        let nearest = suggestion(
            for: target.path, among: Array(candidates), longest: 512)
        return "\(Quoted(target.path)): no manifest wants this target. "
            + (nearest.map { "Did you mean \($0)?" }
                ?? "mirror plan -v lists those that are wanted.")
    }
}
