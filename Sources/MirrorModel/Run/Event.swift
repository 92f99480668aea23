/// Something that happened in a run.
public struct Event: Sendable {
    /// The run's identifier, the same in all events of a run.
    public var run: String
    /// When it happened.
    public var time: Instant
    /// What happened.
    public var body: Body
    /// The bytes and transfers of the run so far, and those that are left.
    public var totals: RunTotals

    /// Takes what happened, when, in which run.
    public init(run: String, time: Instant, body: Body, totals: RunTotals = RunTotals()) {
        self.run = run
        self.time = time
        self.body = body
        self.totals = totals
    }

    /// What happened.
    public enum Body: Sendable {
        /// The plan was made; the first event.
        indirect case plan(PlanTotals)
        /// A transfer, copy or move began.
        indirect case start(Start)
        /// Bytes arrived, at most twice a second a resource, or all are here.
        indirect case progress(Progress)
        /// A transfer failed in a passing way and is tried again.
        indirect case retry(Again)
        /// A transfer starts over from its first byte.
        indirect case restart(Again)
        /// A resource ended as it should.
        case done(Done)
        /// A resource failed.
        indirect case failed(Failed)
        /// An orphan was removed, and its row is gone.
        indirect case removed(Removed)
        /// A set was promoted as a whole, or left as it was.
        indirect case set(SetEnd)
        /// The run ended; the last event.
        indirect case summary(Summary)
    }

    /// The beginning of a resource's transfer, copy or move.
    public struct Start: Sendable {
        /// The resource.
        public var target: Target
        /// What the plan said.
        public var step: Step.Kind
        /// Why.
        public var reason: Reason
        /// Where the bytes come from, without a query; nil when they are in the tree.
        public var source: String?
        /// The size of the whole file in bytes, where known.
        public var size: Int64?
        /// The offset in bytes at which the transfer continues.
        public var offset: Int64

        /// Takes the values; the others have their defaults.
        public init(
            target: Target, step: Step.Kind, reason: Reason, source: String?, size: Int64?,
            offset: Int64
        ) {
            self.target = target
            self.step = step
            self.reason = reason
            self.source = source
            self.size = size
            self.offset = offset
        }
    }

    /// How far a resource's transfer is.
    public struct Progress: Sendable {
        /// The resource.
        public var target: Target
        /// Bytes so far.
        public var bytes: Int64
        /// The size of the whole file in bytes, where known.
        public var size: Int64?
        /// Bytes a second.
        public var rate: Int64
        /// What is done with the bytes.
        public var stage: TransferStage

        /// Takes the values; the others have their defaults.
        public init(
            target: Target, bytes: Int64, size: Int64?, rate: Int64,
            stage: TransferStage = .receiving
        ) {
            self.stage = stage
            self.target = target
            self.bytes = bytes
            self.size = size
            self.rate = rate
        }
    }

    /// A further try.
    public struct Again: Sendable {
        /// The resource.
        public var target: Target
        /// Why.
        public var cause: MirrorError
        /// Which try follows, from 1.
        public var attempt: Int
        /// Milliseconds until it begins.
        public var wait: Int64
        /// Which of how many tries follows after a wait; nil where they are not counted.
        public var tries: (next: Int, most: Int)?

        /// Takes the values; the others have their defaults.
        public init(
            target: Target, cause: MirrorError, attempt: Int, wait: Int64,
            tries: (next: Int, most: Int)? = nil
        ) {
            self.tries = tries
            self.target = target
            self.cause = cause
            self.attempt = attempt
            self.wait = wait
        }
    }

    /// An orphan that is gone.
    public struct Removed: Sendable {
        /// Where it was.
        public var target: Target
        /// Why it was removed.
        public var reason: Reason
        /// How many bytes it had, where known.
        public var size: Int64?

        /// Takes the values.
        public init(target: Target, reason: Reason, size: Int64?) {
            self.target = target
            self.reason = reason
            self.size = size
        }
    }

    /// The end of a set: of a manifest whose resources are promoted together, or not at all.
    public struct SetEnd: Sendable {
        /// The set.
        public var set: AtomicSets.Entry
        /// How it was promoted; nil when it was left as it was.
        public var way: Way?
        /// Files that were promoted, or that are kept for the next run.
        public var files = 0
        /// Orphans that were removed with the old set.
        public var removed = 0
        /// What kept it from being promoted.
        public var obstacle: SetFailure?
        /// How many of its resources did so.
        public var obstacles = 0
        /// Whether the promotion had begun when it was stopped; the next run finishes it.
        public var isUnfinished = false
        /// Paths below the root of files that changed during the promotion, and whose names were taken.
        public var kept: [String] = []

        /// What a reader may have seen during the promotion.
        public enum Way: String, Sendable {
            /// The old set or the new one: their folder was exchanged as a whole.
            case exchange
            /// A mixture for a moment: one file was renamed after the other.
            case rename
        }

        /// Takes the set.
        public init(_ set: AtomicSets.Entry) { self.set = set }
    }

    /// A resource that failed.
    public struct Failed: Sendable {
        /// The resource.
        public var target: Target
        /// What the plan said.
        public var step: Step.Kind
        /// What failed, where, why, and what to do.
        public var error: MirrorError
        /// Whether its failure leaves the run successful.
        public var isOptional: Bool
        /// The manifest that names the resource.
        public var manifest: String
        /// The line that names it; 0 when it was made in code.
        public var line: Int
        /// When its transfer began and ended; nil where none began.
        public var trace: TransferTrace?

        /// Takes the values; the others have their defaults.
        public init(
            target: Target, step: Step.Kind, error: MirrorError, isOptional: Bool, manifest: String,
            line: Int
        ) {
            self.target = target
            self.step = step
            self.error = error
            self.isOptional = isOptional
            self.manifest = manifest
            self.line = line
        }
    }
}

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

/// Something that a caller should know although it ends nothing, such as the use of an old copy.
public struct Notice: Sendable, Hashable {
    /// A sentence for people.
    public var message: String
    /// What helps, if only the program has words for it; other advice ends the message.
    public var remedy: Remedy?

    /// Takes a sentence.
    public init(_ message: String, remedy: Remedy? = nil) {
        self.message = message
        self.remedy = remedy
    }
}

/// Work that is no transfer, such as reading files again, as far as it has come.
public struct Activity: Sendable, Hashable {
    /// The kinds of work.
    public enum Kind: String, Sendable, Hashable {
        /// Nothing is under way.
        case none
        /// A manifest is decoded; `bytes` are those of its text.
        case decoding
        /// The tree is compared with the manifests; `bytes` are those of files in doubt, which are read.
        case looking
        /// Files are read, to compare or to pin them.
        case reading
        /// Files are removed.
        case removing
    }

    /// What is done.
    public var kind = Kind.none
    /// A number of its own for each piece of work.
    public var number = 0
    /// Files that are done.
    public var done = 0
    /// All files, where their number is known.
    public var total: Int?
    /// Bytes that were read.
    public var bytes: Int64 = 0
    /// All bytes, where they are known.
    public var totalBytes: Int64?
    /// The path of the file that is read; empty where it is none.
    public var name = ""

    /// Nothing is under way.
    public init() {}
}
