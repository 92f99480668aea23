/// What comes of recorded decisions when this version of mirror makes them again.
public struct ReplayReport: Sendable {
    /// A decision as it was recorded, and as it is now.
    public struct Entry: Sendable, Hashable {
        /// The target.
        public var target: Target
        /// The clock of the decision.
        public var at: Instant
        /// What was recorded.
        public var recorded: DecisionWords
        /// What is decided now.
        public var now: DecisionWords

        /// Whether nothing differs, the sentence included.
        public var isSame: Bool { recorded == now }
    }

    /// The decisions in the order of the file.
    public var entries: [Entry]

    /// Makes recorded decisions again.
    public init(of decisions: some Sequence<RecordedDecision>) {
        entries = decisions.map { decision in
            Entry(
                target: decision.target, at: decision.now, recorded: decision.words,
                now: decision.decidedAgain())
        }
    }

    /// The decisions that came out differently.
    public var differences: [Entry] { entries.filter { !$0.isSame } }

    /// Writes the report as one JSON document.
    public func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("v", 1)
            json.key("decisions")
            json.array { json in
                for entry in entries {
                    json.object { json in
                        json.member("target", entry.target.path)
                        json.member("at", entry.at.rfc3339)
                        json.member("same", entry.isSame)
                        json.key("recorded")
                        json.object { entry.recorded.writeMembers(to: &$0) }
                        json.key("now")
                        json.object { entry.now.writeMembers(to: &$0) }
                    }
                }
            }
            json.key("totals")
            json.object { json in
                json.member("decisions", entries.count)
                json.member("differences", differences.count)
            }
        }
    }
}
