import MirrorKit

extension EarlyManifest {
    /// Verbs that read a manifest before they do anything else.
    private static let verbs = ["plan", "sync"]

    /// The manifest that a command line names by its looks; nil where it names none.
    ///
    /// The words are not parsed yet: the one that is taken may be an option's value.
    convenience init?(of words: [String]) {
        guard let verb = words.first, Self.verbs.contains(verb),
            let path = words.first(where: {
                !$0.hasPrefix("-") && ($0.hasSuffix(".json") || $0.hasSuffix(".xml"))
            })
        else { return nil }
        let makesRequests =
            verb == "sync" && !words.contains("--offline") && !words.contains("--dry-run")
        self.init(path: path, expectsRequests: makesRequests)
    }
}
