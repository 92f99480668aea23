extension Event {
    /// A resource that ended as it should.
    public struct Done: Sendable {
        // In an object, because the step, its run, the log and every reader pass it on.
        private var facts: ValueObject<Facts>

        private struct Facts {
            var target: Target
            var step: Step.Kind
            var outcome: Outcome
            var reason: Reason
            var bytesReceived: Int64 = 0
            var bytesReused: Int64 = 0
            var bytesFreed: Int64 = 0
            var sha256: Digest?
            var source: String?
            var verified: Verification
            var conflict: Target?
            var trace: TransferTrace?
        }

        /// Takes the values; the others have their defaults.
        public init(
            target: Target, step: Step.Kind, outcome: Outcome, reason: Reason,
            verified: Verification
        ) {
            facts = ValueObject(
                Facts(
                    target: target, step: step, outcome: outcome, reason: reason,
                    verified: verified))
        }

        /// The resource.
        public var target: Target {
            get { facts.value.target }
            set { facts.value.target = newValue }
        }

        /// What the plan said.
        public var step: Step.Kind {
            get { facts.value.step }
            set { facts.value.step = newValue }
        }

        /// How it ended.
        public var outcome: Outcome {
            get { facts.value.outcome }
            set { facts.value.outcome = newValue }
        }

        /// Why.
        public var reason: Reason {
            get { facts.value.reason }
            set { facts.value.reason = newValue }
        }

        /// Body bytes that arrived for it.
        public var bytesReceived: Int64 {
            get { facts.value.bytesReceived }
            set { facts.value.bytesReceived = newValue }
        }

        /// Bytes that were there and not fetched again.
        public var bytesReused: Int64 {
            get { facts.value.bytesReused }
            set { facts.value.bytesReused = newValue }
        }

        /// Bytes of a file that was removed because there is no room for it.
        public var bytesFreed: Int64 {
            get { facts.value.bytesFreed }
            set { facts.value.bytesFreed = newValue }
        }

        /// The sha256 of the file; nil when it was neither read nor received.
        public var sha256: Digest? {
            get { facts.value.sha256 }
            set { facts.value.sha256 = newValue }
        }

        /// The source that answered, without its query; nil when none was asked.
        public var source: String? {
            get { facts.value.source }
            set { facts.value.source = newValue }
        }

        /// How the bytes were verified.
        public var verified: Verification {
            get { facts.value.verified }
            set { facts.value.verified = newValue }
        }

        /// The conflict copy's name, if the target held bytes that mirror did not put there.
        public var conflict: Target? {
            get { facts.value.conflict }
            set { facts.value.conflict = newValue }
        }

        /// When its transfer began and ended; nil where it needed none.
        public var trace: TransferTrace? {
            get { facts.value.trace }
            set { facts.value.trace = newValue }
        }
    }
}
