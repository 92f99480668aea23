/// A tag or a target in an option that no manifest of the run has.
package enum UnknownName {
    /// How many targets a misspelt one is held against; more would take seconds.
    private static let mostCandidates = 20_000

    /// The sentence about a tag that no resource has; nil when all are known.
    ///
    /// - Parameters:
    ///   - asked: tags by the option that names them, in the order in which they are looked at.
    ///   - known: every tag of the manifests.
    package static func sentence(
        asked: [(option: String, tags: Set<String>)], known: Set<String>
    ) -> String? {
        for (option, tags) in asked {
            guard let unknown = tags.subtracting(known).min() else { continue }
            let nearest = NearestName.suggestion(for: unknown, among: known.sorted())
            return "\(option) \(Quoted(unknown)): no resource has this tag. "
                + advice(nearest.map { "\(option) \($0)" }, tags: known)
        }
        return nil
    }

    private static func advice(_ suggestion: String?, tags: Set<String>) -> String {
        if let suggestion { return "Did you mean \(suggestion)?" }
        if tags.isEmpty { return "The manifests have no tags: leave the option out." }
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
        return "--refetch \(Quoted(target.path)): no manifest wants this target. "
            + (nearest.map { "Did you mean --refetch \($0)?" }
                ?? "mirror plan -v lists those that are wanted.")
    }
}
