internal import MirrorModel

extension Wanted {
    /// Refuses tags and targets in options that no manifest has.
    ///
    /// They would select nothing, but look as if they had. Throws `MirrorError` with `usage`.
    func refuseUnknownNames(_ options: PlanOptions) throws(MirrorError) {
        if !options.only.isEmpty || !options.skip.isEmpty {
            let asked = [options.only, options.skip]
            if let words = UnknownName.sentence(asked: asked, known: tags()) {
                throw MirrorError(.usage, words)
            }
        }
        for target in options.asked.sorted() where !wants(target) {
            throw MirrorError(
                .usage,
                UnknownName.sentence(
                    target: target, among: manifests.lazy.flatMap(\.resources).map(\.target)))
        }
        for target in options.refetched.sorted() where !wants(target) {
            throw MirrorError(
                .usage,
                UnknownName.sentence(
                    target: target, among: entries.lazy.map { self.target(of: $0) }))
        }
    }

    private func tags() -> Set<String> {
        var tags: Set<String> = []
        for manifest in manifests {
            for resource in manifest.resources { tags.formUnion(resource.tags) }
        }
        for tag in tags { tags.formUnion(PlanOptions.words(of: tag)) }
        return tags
    }

    /// Whether an entry has a target.
    func wants(_ target: Target) -> Bool {
        var path = target.path
        return path.withUTF8 { path in
            var (low, high) = (0, entries.count)
            while low < high {
                let middle = (low + high) / 2
                let sign = compare(entries[middle], with: path)
                if sign == 0 { return true }
                if sign < 0 { low = middle + 1 } else { high = middle }
            }
            return false
        }
    }
}
