/// Finds the known name that a misspelt name most likely means.
package enum NearestName {
    /// The nearest candidate; nil when none is near enough.
    ///
    /// A candidate is near when its edit distance is at most a third of the name, so that `sha265`
    /// suggests `sha256` and `colour` suggests nothing.
    ///
    /// - Parameter longest: how many characters of a name count; the time grows with their square.
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
