/// Something that happened in a run.
public struct Event: Sendable {
    /// The run's identifier, the same in all events of a run.
    public var run: String
    /// When the event happened.
    public var time: Instant
    /// What happened.
    public var body: Body
    /// The run's bytes and transfers so far, and those that are left.
    public var totals: RunTotals

    /// Makes an event of the run with the identifier `run`.
    public init(run: String, time: Instant, body: Body, totals: RunTotals = RunTotals()) {
        self.run = run
        self.time = time
        self.body = body
        self.totals = totals
    }

    /// What happened in an event.
    public enum Body: Sendable {
        /// The plan was made. This is the first event of a run.
        indirect case plan(PlanTotals)
        /// A transfer, copy or move began.
        indirect case start(Start)
        /// A transfer received bytes, or reached its next stage.
        ///
        /// While bytes arrive, a resource has at most two of these events a second.
        indirect case progress(Progress)
        /// A request failed for a reason that may pass, and mirror tries again.
        indirect case retry(Again)
        /// A transfer starts over from its first byte.
        indirect case restart(Again)
        /// The caller paused a resource. `nil` means all resources of the run.
        case paused(Target?)
        /// The caller resumed a resource. `nil` means all resources of the run.
        case resumed(Target?)
        /// A resource ended as it should.
        case done(Done)
        /// A resource failed.
        indirect case failed(Failed)
        /// An orphan was removed, and so was its row in the index.
        indirect case removed(Removed)
        /// A set was promoted as a whole, or was left as it was.
        indirect case set(SetEnd)
        /// A fact that ends nothing, but that a person should know, such as a store that is down.
        case warning(String)
        /// The run ended. This is its last event.
        indirect case summary(Summary)
    }

    /// The beginning of a resource's transfer, copy or move.
    public struct Start: Sendable {
        /// The target of the resource.
        public var target: Target
        /// The kind of the resource's step in the plan.
        public var step: Step.Kind
        /// Why the plan has this step.
        var reason: Reason
        /// Where the bytes come from, without a query. `nil` means that they are in the tree.
        public var source: String?
        /// The size of the whole file in bytes, where known.
        public var size: Int64?
        /// The offset in bytes at which the transfer continues.
        public var offset: Int64

        /// The reason as a word that scripts may rely on.
        public var reasonCode: String { reason.code }

        /// The reason as a sentence, without its full stop.
        public var because: String { reason.because }
    }

    /// How far a resource's transfer is.
    public struct Progress: Sendable {
        /// The target of the resource.
        public var target: Target
        /// The bytes of the file that are here so far, on the disk or in memory.
        public var bytes: Int64
        /// The size of the whole file in bytes, where known.
        public var size: Int64?
        /// The rate of the transfer in bytes a second.
        public var rate: Int64
        /// What mirror does with the bytes now.
        public var stage: TransferStage

        /// Takes all values. By default the bytes still arrive.
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

    /// A further try of a transfer.
    public struct Again: Sendable {
        /// The target of the resource.
        public var target: Target
        /// The error that makes a further try necessary.
        public var cause: MirrorError
        /// The number of the request that follows, from 1.
        public var attempt: Int
        /// Milliseconds until the further try begins.
        public var wait: Int64
        /// `next`: which try follows after a wait; `most`: how many tries there are.
        ///
        /// `nil` means that this try is not counted.
        public var tries: (next: Int, most: Int)?

        /// Takes all values. By default the try is not counted.
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

    /// An orphan that a run removed.
    public struct Removed: Sendable {
        /// The target of the orphan.
        public var target: Target
        /// Why the orphan was removed.
        package var reason: Reason
        /// The size of the orphan in bytes, where known.
        public var size: Int64?

        /// The reason as a word that scripts may rely on.
        public var reasonCode: String { reason.code }

        /// The reason as a sentence, without its full stop.
        public var because: String { reason.because }
    }

    /// The end of a set: of manifests whose resources are promoted together, or not at all.
    public struct SetEnd: Sendable {
        /// The set: the names of its manifests, and its folder.
        package var set: AtomicSets.Entry
        /// How the set was promoted. `nil` means that its promotion did not begin, or did not end.
        package var way: Way?
        /// How many files were promoted, or are kept for the next run.
        public var files = 0
        /// How many orphans were removed with the old version of the set.
        public var removed = 0
        /// What kept the set from being promoted. `nil` means that it was promoted.
        package var obstacle: SetFailure?
        /// How many obstacles the set met before its promotion.
        public var obstacles = 0
        /// Whether an error stopped the promotion after it had begun. The next run finishes it.
        public var isUnfinished = false
        /// Paths below the root of files that other programs changed during the promotion.
        ///
        /// These files did not get their own names back, because the names were taken.
        public var kept: [String] = []

        /// What a reader may have seen during the promotion.
        package enum Way: String, Sendable {
            /// The old version or the new one: the set's folder was exchanged as a whole.
            case exchange
            /// A mixture of both versions for a moment: one file was renamed after the other.
            case rename
        }

        /// Takes the set.
        init(_ set: AtomicSets.Entry) { self.set = set }
    }

    /// A resource that failed.
    public struct Failed: Sendable {
        /// The target of the resource.
        public var target: Target
        /// The kind of the resource's step in the plan.
        public var step: Step.Kind
        /// What failed, where, why, and what to do.
        public var error: MirrorError
        /// Whether the resource is optional, so that its failure leaves the run successful.
        public var isOptional: Bool
        /// The manifest that names the resource.
        public var manifest: String
        /// The manifest's line that names the resource. 0 means that the manifest was made in code.
        public var line: Int
        /// When the resource's transfer began and ended. `nil` means that no transfer began.
        var trace: TransferTrace?

        /// Takes all values but the times of the transfer.
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
        // An object, because the step, its run, the log and every reader copy this value.
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

        /// Takes these values. The other ones have their defaults.
        init(
            target: Target, step: Step.Kind, outcome: Outcome, reason: Reason,
            verified: Verification
        ) {
            facts = ValueObject(
                Facts(
                    target: target, step: step, outcome: outcome, reason: reason,
                    verified: verified))
        }

        /// The target of the resource.
        public var target: Target {
            get { facts.value.target }
            set { facts.value.target = newValue }
        }

        /// The kind of the resource's step in the plan.
        public var step: Step.Kind {
            get { facts.value.step }
            set { facts.value.step = newValue }
        }

        /// How the resource ended.
        public var outcome: Outcome {
            get { facts.value.outcome }
            set { facts.value.outcome = newValue }
        }

        /// Why the resource ended so.
        package var reason: Reason {
            get { facts.value.reason }
            set { facts.value.reason = newValue }
        }

        /// The reason as a word that scripts may rely on.
        public var reasonCode: String { reason.code }

        /// The reason as a sentence, without its full stop.
        public var because: String { reason.because }

        /// Body bytes that arrived for the resource.
        public var bytesReceived: Int64 {
            get { facts.value.bytesReceived }
            set { facts.value.bytesReceived = newValue }
        }

        /// Bytes that were in the tree already, and were not fetched again.
        public var bytesReused: Int64 {
            get { facts.value.bytesReused }
            set { facts.value.bytesReused = newValue }
        }

        /// The size in bytes of a file that was removed for lack of room; 0 for all other outcomes.
        public var bytesFreed: Int64 {
            get { facts.value.bytesFreed }
            set { facts.value.bytesFreed = newValue }
        }

        /// The sha256 of the file. `nil` means that the file was neither read nor received.
        public var sha256: Digest? {
            get { facts.value.sha256 }
            set { facts.value.sha256 = newValue }
        }

        /// The source that answered, without its query. `nil` means that mirror asked no source.
        public var source: String? {
            get { facts.value.source }
            set { facts.value.source = newValue }
        }

        /// How the bytes were verified.
        public var verified: Verification {
            get { facts.value.verified }
            set { facts.value.verified = newValue }
        }

        /// The conflict copy, if the target held bytes that mirror did not put there.
        public var conflict: Target? {
            get { facts.value.conflict }
            set { facts.value.conflict = newValue }
        }

        /// When the resource's transfer began and ended. `nil` means that no transfer was needed.
        var trace: TransferTrace? {
            get { facts.value.trace }
            set { facts.value.trace = newValue }
        }
    }
}

/// A fact that a caller should know although it ends nothing, such as the use of an old copy.
package struct Notice: Sendable, Hashable {
    /// A sentence for people.
    package var message: String
    /// What helps, as a value for which each program has its own words.
    ///
    /// `nil` means that the message has any advice there is.
    package var remedy: Remedy?

    /// Takes a sentence.
    init(_ message: String, remedy: Remedy? = nil) {
        self.message = message
        self.remedy = remedy
    }
}

/// The progress of work that is no transfer, such as reading files again.
package struct Activity: Sendable, Hashable {
    /// The kinds of work.
    package enum Kind: String, Sendable, Hashable {
        /// Nothing is under way.
        case none
        /// mirror decodes a manifest; `bytes` counts bytes of its text.
        case decoding
        /// mirror compares the tree with the manifests; `bytes` counts bytes of files in doubt.
        case looking
        /// mirror reads files, to compare or to pin them.
        case reading
        /// mirror removes files.
        case removing
        /// mirror puts files into a store.
        case pushing
    }

    /// The kind of work that is under way.
    package var kind = Kind.none
    /// The number of this piece of work; each piece has its own.
    package var number = 0
    /// How many files are done.
    package var done = 0
    /// How many files there are in all, where known.
    package var total: Int?
    /// How many bytes were read.
    package var bytes: Int64 = 0
    /// How many bytes are to be read in all, where known.
    package var totalBytes: Int64?
    /// The path of the file that mirror reads now. Empty means that it reads no file.
    package var name = ""

    /// Nothing is under way.
    package init() {}
}
