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
