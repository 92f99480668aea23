/// A decision with everything that it was made from, so that another machine can make it again.
///
/// The reconciler is a pure function. The same situation, options and clock give the same decision
/// anywhere, unless another version of mirror has other rules. A recorded decision holds no query, no
/// header, no body and no user name: the reconciler looks at none of them.
public struct RecordedDecision: Sendable {
    /// What was known of the target, without secrets.
    package let situation: Situation
    /// The options that the decision depended on.
    package let options: Set<Option>
    /// The wall clock.
    public let now: Instant
    /// What was decided.
    public let words: DecisionWords

    /// An option that a decision depends on.
    package enum Option: String, Sendable, Hashable, CaseIterable {
        /// Every unpinned file is treated as due.
        case everythingIsDue = "refresh"
        /// The target is treated as not there.
        case refetched = "refetch"
        /// Orphans are removed, and so may be renamed.
        case prunes = "prune"
    }

    /// Takes a decision as a file has it.
    package init(
        situation: Situation, options: Set<Option>, now: Instant, words: DecisionWords
    ) {
        self.situation = situation.redacted
        self.options = options
        self.now = now
        self.words = words
    }

    /// Decides, and keeps what the decision was made from.
    package init(of situation: Situation, by reconciler: Reconciler, now: Instant) {
        var options: Set<Option> = []
        if reconciler.everythingIsDue { options.insert(.everythingIsDue) }
        if reconciler.refetched.contains(situation.resource.target) { options.insert(.refetched) }
        if reconciler.prunes { options.insert(.prunes) }
        let decision = reconciler.step(for: situation, now: now)
        self.init(
            situation: situation, options: options, now: now, words: DecisionWords(decision))
    }

    /// The target that was decided about.
    public var target: Target { situation.resource.target }

    /// What this version of mirror decides about the same situation.
    public func decidedAgain() -> DecisionWords {
        var reconciler = Reconciler()
        reconciler.everythingIsDue = options.contains(.everythingIsDue)
        reconciler.prunes = options.contains(.prunes)
        if options.contains(.refetched) { reconciler.refetched = [target] }
        return DecisionWords(reconciler.step(for: situation, now: now))
    }
}

/// A decision as it is written down: the step, the reason, the sentence, and the source of the bytes.
public struct DecisionWords: Sendable, Hashable {
    /// The step's name, such as `fetch`.
    public var step: String
    /// The reason's code.
    public var reason: String
    /// The sentence.
    public var because: String
    /// Where the bytes come from: `nothing`, `transfer`, `copy of Caches/a`.
    public var means: String

    /// Takes words that were written down.
    public init(step: String, reason: String, because: String, means: String) {
        self.step = step
        self.reason = reason
        self.because = because
        self.means = means
    }

    /// The words of a decision.
    public init(_ decision: Decision) {
        self.init(
            step: decision.kind.rawValue, reason: decision.reason.code,
            because: decision.reason.because, means: decision.means.text)
    }

    /// Writes the words as members of an object.
    public func writeMembers(to json: inout JSONWriter) {
        json.member("step", step)
        json.member("reason", reason)
        json.member("because", because)
        json.member("means", means)
    }
}

extension Step.Means {
    /// The source of the bytes in words.
    fileprivate var text: String {
        switch self {
        case .nothing: "nothing"
        case .adoption: "adoption"
        case .transfer(nil, nil): "transfer"
        case .transfer(nil, _?): "conditional transfer"
        case .transfer(let part?, nil): "transfer from part \(part.name)"
        case .transfer(let part?, _?): "conditional transfer from part \(part.name)"
        case .copy(let target): "copy of \(target)"
        case .move(let target): "move of \(target)"
        case .removal: "removal"
        }
    }
}
