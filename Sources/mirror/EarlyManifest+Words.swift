import MirrorKit

extension EarlyManifest {
    /// Verbs that read a manifest before they do anything else.
    private static let verbs = ["plan", "sync"]

    /// The manifest that a command line names by its looks; nil where it names none.
    ///
    /// The words are not parsed yet, so one that follows an option is passed over: it may be its value.
    convenience init?(of words: [String]) {
        guard let verb = words.first, Self.verbs.contains(verb) else { return nil }
        let path = zip(words, words.dropFirst()).first { before, word in
            !before.hasPrefix("-") && !word.hasPrefix("-")
                && (word.hasSuffix(".json") || word.hasSuffix(".xml"))
        }?.1
        guard let path else { return nil }
        let makesRequests =
            verb == "sync" && !words.contains("--offline") && !words.contains("--dry-run")
        self.init(path: path, expectsRequests: makesRequests)
    }
}
