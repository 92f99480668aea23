public import MirrorModel

/// The options of a plan.
public struct PlanOptions: Sendable {
    /// Selects only resources with one of these tags; empty selects all of them.
    public var only: Set<String> = []
    /// Leaves out resources with one of these tags.
    public var skip: Set<String> = []
    /// Whether orphans are removed.
    public var prunes = false
    /// Whether each manifest is all or nothing, as if its text said so.
    public var isAtomic = false
    /// Whether every unpinned file is treated as due.
    public var everythingIsDue = false
    /// Targets that are treated as not there.
    public var refetched: Set<Target> = []
    /// Whether the given manifest takes a target from a manifest outside this run that wants other
    /// bytes.
    ///
    /// If false, the plan is refused because of such a target.
    public var takesOver = false
    /// Whether tags and targets that no manifest has are refused.
    public var refusesUnknownNames = false
    /// Whether files are read even if their stamps say that they are unchanged.
    public var rehashes = false
    /// Selects only these targets, and admits them to Caches before all others; empty selects all.
    public var asked: Set<Target> = []
    /// Bytes that mirror's files in Caches may take up; nil is no limit.
    public var quota: Int64?
    /// Files in tmp that were unused for so many seconds are removed; nil removes none.
    ///
    /// A file of tmp that its manifest no longer names then goes at once.
    public var longestIdleInTmp: Int64?
    /// Parts that no manifest wants are removed so many seconds after their last write; nil removes
    /// none.
    public var longestUnwantedPart: Int64? = 14 * 86400

    /// Whether some resources are selected, and others not.
    var isSelection: Bool { !only.isEmpty || !skip.isEmpty || !asked.isEmpty }

    /// Whether a resource with these tags is selected.
    ///
    /// `dev+optional` is a tag of two words: a file that is needed for either of them. It is left out
    /// only if both are, and selected by any of them.
    func selects(tags: [String]) -> Bool {
        let isSkipped = tags.contains { tag in
            skip.contains(tag) || PlanOptions.words(of: tag).allSatisfy { skip.contains($0) }
        }
        if isSkipped { return false }
        return only.isEmpty
            || tags.contains { tag in
                only.contains(tag) || PlanOptions.words(of: tag).contains { only.contains($0) }
            }
    }

    /// The words of a tag that plus signs divide; the tag itself where one would be empty, as in `c++`.
    static func words(of tag: String) -> [String] {
        guard tag.utf8.contains(UInt8(ascii: "+")) else { return [tag] }
        let words = tag.parts(at: "+", keepingEmpty: true).map(String.init)
        return words.contains("") ? [tag] : words
    }

    /// The defaults: due files are requested, changed files are read, orphans are left.
    public init() {}

    /// Refuses a number that is out of its range; whatever takes the options does so.
    ///
    /// Throws `MirrorError` with `usage`, which names the property and the range.
    public func validate() throws(MirrorError) {
        try NumberRange.check("quota", quota, NumberRange.natural)
        try NumberRange.check("longestIdleInTmp", longestIdleInTmp, NumberRange.natural)
        try NumberRange.check("longestUnwantedPart", longestUnwantedPart, NumberRange.natural)
    }
}
