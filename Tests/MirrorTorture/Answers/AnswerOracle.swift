internal import MirrorTestSupport

/// What the contract allows to come of a script, said apart from the code that keeps it.
///
/// It knows an answer only by the meaning that its table gives it, and composes: which request
/// comes first follows from the part and the validators, and what follows it from that meaning.
struct AnswerOracle {
    /// How a run may end.
    enum Ending: Hashable {
        /// Exit 0, and the file is the version that is served.
        case right
        /// Exit 0, and the file is as much of it as the framing called the whole.
        case slice(Range<Int>)
        /// Exit 0, and the file is the one from before.
        case kept
        /// Exit 1, or 69 when it may heal; what was there stays.
        case lasting, healing
    }

    struct Verdict {
        var endings: Set<Ending>
        /// The most requests, restarts and whole bodies that it may take.
        var requests: Int
        var restarts = 0
        var bodies = 0
        /// Whether the bytes of the part have to be used.
        var reuses = false

        init(_ endings: Set<Ending>, requests: Int = 1, restarts: Int = 0, bodies: Int = 1) {
            self.endings = endings
            self.requests = requests
            self.restarts = restarts
            self.bodies = bodies
        }

        func or(_ other: Verdict) -> Verdict {
            Verdict(
                endings.union(other.endings), requests: max(requests, other.requests),
                restarts: max(restarts, other.restarts), bodies: max(bodies, other.bodies))
        }

        func after(requests: Int, restarts: Int = 0) -> Verdict {
            Verdict(
                endings, requests: self.requests + requests, restarts: self.restarts + restarts,
                bodies: bodies)
        }
    }

    let script: AnswerScript
    let state: PartState
    let knowledge: Knowledge

    /// Whether the first request has to carry a range.
    var asksForRange: Bool {
        guard state.hasPart, state != .altered else { return false }
        if state == .complete {
            return knowledge == .digest || knowledge == .nothing && hasStrongValidator
        }
        return hasStrongValidator || knowledge.isPinned
    }

    /// Nil where nobody can tell that the server lies.
    var verdict: Verdict? {
        var verdict = firstAnswer
        if script.isElsewhere { verdict = verdict.map { $0.after(requests: $0.requests) } }
        return verdict
    }

    private var hasStrongValidator: Bool { script.stamp.strong(0) != nil }

    private var firstAnswer: Verdict? {
        if state.hasOlderFile, !knowledge.isPinned, let confirmation = script.confirmation {
            switch confirmation.meaning(knowledge) {
            case .confirmed: return Verdict([.kept])
            case .doubted: return (asksForRange ? ranged : plain)?.after(requests: 1)
            // The request had a range too: another range is one that starts over.
            case .refused where asksForRange && confirmation.name.hasPrefix("206"):
                let anew = plain?.after(requests: 1, restarts: 1)
                return anew?.or(Verdict([.lasting]))
            case .refused where asksForRange && confirmation.mayRefuseRange:
                return Verdict([.lasting], requests: 2)
            case .refused: return Verdict([.lasting])
            case .passing: return Verdict([.healing])
            default: return nil
            }
        }
        // The request for the rest asked too whether the older file is still right. An answer about
        // another version is doubted first, and then one to a request that asked nothing of the kind.
        if state == .updating, !knowledge.isPinned, script.range?.name.hasPrefix("304") == true {
            return (asksForRange ? ranged?.after(requests: 1) : plain)?.or(Verdict([.kept]))
        }
        if state == .complete {
            // All bytes are here and the size is known: hashed, or confirmed by a condition.
            if knowledge == .both { return Verdict([.right], requests: 0) }
            if knowledge == .size, hasStrongValidator {
                if script.confirmation != nil { return nil }
                return script.changesTags ? plain : Verdict([.right])
            }
        }
        return asksForRange ? ranged : plain
    }

    /// A request for the whole file.
    private var plain: Verdict? { script.whole.meaning(knowledge).flatMap(plain) }

    private func plain(_ meaning: Answer.Meaning) -> Verdict? {
        switch meaning {
        case .taken: Verdict([.right])
        case .takenAs(let range): Verdict([.slice(range)])
        case .takenOrRefused: Verdict([.right, .lasting])
        case .takenOrFailed: Verdict([.right, .lasting, .healing])
        case .elsewhere(let hops): Verdict([.right], requests: 1 + hops)
        case .refused: Verdict([.lasting])
        case .refusedAfter(let hops): Verdict([.lasting], requests: 1 + hops)
        case .passing, .cut: Verdict([.healing])
        case .cutAtTheEnd: Verdict(knowledge.isPinned ? [.healing, .right] : [.healing])
        case .failed: Verdict([.lasting, .healing], requests: 2)
        case .wrong: Verdict([.lasting], requests: 2, restarts: 1, bodies: 2)
        default: nil
        }
    }

    /// A request for the rest.
    private var ranged: Verdict? {
        guard let range = script.range else {
            // It may be the range: the source is asked again without one.
            if script.whole.contradictsRange {
                let asked = plain?.after(doubted: 1)
                // Its head began the file again. Its end then leads to a second request.
                return script.whole.contradictsAtItsEnd ? asked?.restartedByWhole : asked
            }
            if script.whole.mayRefuseRange { return plain?.after(requests: 1) }
            return plain?.restartedByWhole
        }
        guard let meaning = range.meaning(knowledge) else { return nil }
        if range.mayRefuseRange { return plain?.after(requests: 1, restarts: 1) }
        let anew =
            range.contradictsRange
            ? plain?.after(doubted: 1) : plain?.after(requests: 1, restarts: 1)
        // There is no byte at that position: the answer is 416, without a tag.
        if state == .complete, !range.isBodiless { return anew?.or(Verdict([.right])) }
        if script.changesTags || state == .stale { return changed(meaning, anew) }
        return continued(meaning, anew)
    }

    /// The part is of the version that is served.
    private func continued(_ meaning: Answer.Meaning, _ anew: Verdict?) -> Verdict? {
        switch meaning {
        case .continued(let count):
            var verdict = Verdict([.right], requests: count)
            verdict.reuses = true
            return verdict
        case .restarted where state == .complete, .restartedTwice where state == .complete:
            return anew?.or(Verdict([.right]))
        case .restarted: return anew
        case .restartedTwice: return anew?.after(requests: 0, restarts: 1)
        case .restartedOrContinued: return anew?.or(Verdict([.right]))
        case .restartedOrRefused: return anew?.or(Verdict([.lasting]))
        default: return other(meaning)
        }
    }

    /// The part is of another version than what is served now.
    private func changed(_ meaning: Answer.Meaning, _ anew: Verdict?) -> Verdict? {
        let isHonest = script.range?.name == RangeAnswers.honest.name
        if isHonest, hasStrongValidator { return plain?.restartedByWhole }
        switch meaning {
        case .continued(let count): return anew?.after(requests: count - 1)
        case .restarted, .restartedOrContinued: return anew
        // Its tag is another one, so nothing is known of its length.
        case .restartedTwice: return nil
        case .restartedOrRefused: return anew?.or(Verdict([.lasting]))
        // Its head shows that it is of another version, before anything else of it counts.
        case .cut, .refused, .passing: return anew.flatMap { $0.or(other(meaning) ?? $0) }
        default: return other(meaning)
        }
    }

    /// An answer that means the same whatever the part is.
    private func other(_ meaning: Answer.Meaning) -> Verdict? {
        switch meaning {
        case .taken: Verdict([.right], restarts: 1)
        case .elsewhere(let hops): Verdict([.right], requests: 1 + hops, restarts: 1)
        case .refused: Verdict([.lasting])
        case .refusedAfter(let hops): Verdict([.lasting], requests: 1 + hops)
        case .passing, .cut: Verdict([.healing])
        case .restartedAndCut: Verdict([.healing], restarts: 1)
        case .failed: Verdict([.lasting, .healing], requests: 2)
        default: nil
        }
    }
}

extension AnswerOracle.Verdict {
    /// The whole file came in the place of a range: that answer is used, and no other is asked for.
    fileprivate var restartedByWhole: Self { after(requests: 0, restarts: 1) }

    /// So many answers with a whole body each were not taken for the file.
    fileprivate func after(doubted count: Int) -> Self {
        var verdict = after(requests: count, restarts: count)
        verdict.bodies += count
        return verdict
    }
}
