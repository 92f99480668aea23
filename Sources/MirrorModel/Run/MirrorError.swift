/// What failed, where, why, and what to do next: the one error that callers of the library see.
///
/// The message is a whole sentence for people, without secrets; the other fields are for scripts.
public struct MirrorError: Error, Sendable, Hashable {
    // In an object, because results and messages have room for an error that hardly any of them has.
    private var facts: ValueObject<Facts>

    private struct Facts: Hashable {
        var code: FailureCode
        var message: String
        var remedy: Remedy?
        var target: Target?
        var source: String?
        var status: Int?
        var attempts: Int = 0
        var expected: String?
        var actual: String?
        var tried: [String] = []
        var isRetryable: Bool
    }

    /// Takes a code and a sentence.
    public init(
        _ code: FailureCode, _ message: String, target: Target? = nil, remedy: Remedy? = nil
    ) {
        facts = ValueObject(
            Facts(
                code: code, message: message, remedy: remedy, target: target,
                isRetryable: code.isRetryable))
    }

    /// The kind of failure.
    public var code: FailureCode {
        get { facts.value.code }
        set { facts.value.code = newValue }
    }

    /// A sentence: what, where, and why.
    public var message: String {
        get { facts.value.message }
        set { facts.value.message = newValue }
    }

    /// What helps, if only the program has words for it; other advice ends the message.
    public var remedy: Remedy? {
        get { facts.value.remedy }
        set { facts.value.remedy = newValue }
    }

    /// The resource, where one is concerned.
    public var target: Target? {
        get { facts.value.target }
        set { facts.value.target = newValue }
    }

    /// The source that failed last, without its query.
    public var source: String? {
        get { facts.value.source }
        set { facts.value.source = newValue }
    }

    /// The status code that a server answered with.
    public var status: Int? {
        get { facts.value.status }
        set { facts.value.status = newValue }
    }

    /// How many requests were made for the resource.
    public var attempts: Int {
        get { facts.value.attempts }
        set { facts.value.attempts = newValue }
    }

    /// The declared or known value, e.g. a digest.
    public var expected: String? {
        get { facts.value.expected }
        set { facts.value.expected = newValue }
    }

    /// The value that was found instead.
    public var actual: String? {
        get { facts.value.actual }
        set { facts.value.actual = newValue }
    }

    /// The sources that were tried, in order, without their queries.
    public var tried: [String] {
        get { facts.value.tried }
        set { facts.value.tried = newValue }
    }

    /// Whether running again may help; an answer of 503 may heal, one of 404 will not.
    public var isRetryable: Bool {
        get { facts.value.isRetryable }
        set { facts.value.isRetryable = newValue }
    }
}

extension MirrorError: CustomStringConvertible {
    /// The sentence: what, where, and why.
    public var description: String { message }
}

extension MirrorError {
    /// The sentence without the target that it begins with, for a line that has named it.
    public func message(without target: Target) -> String {
        let prefix = target.path + ": "
        return message.utf8.starts(with: prefix.utf8)
            ? String(message.utf8.dropFirst(prefix.utf8.count)) ?? message : message
    }
}

extension MirrorError {
    /// Writes the error's fields as members of an object.
    public func writeMembers(to json: inout JSONWriter) {
        json.member("code", code.rawValue)
        json.member("message", message)
        json.member("retryable", isRetryable)
        json.member("source", source)
        json.member("status", status)
        json.member("attempts", attempts)
        json.member("expected", expected)
        json.member("actual", actual)
        json.member("tried", tried)
    }
}

/// The errors of steps that a run cannot carry out, and of its own end.
extension MirrorError {
    /// A file that someone else put there is kept, because that was asked for.
    static func conflictKept(_ target: Target) -> MirrorError {
        MirrorError(
            .conflict,
            "\(target): it has bytes that mirror did not put there, and such files are to be kept.",
            target: target, remedy: Remedy(.renameConflicts))
    }

    /// A file that was to stay is not the one that the plan was made for.
    package static func changedSincePlan(_ target: Target, isGone: Bool) -> MirrorError {
        let what = isGone ? "removed" : "changed"
        return MirrorError(
            .sourceChanged,
            "\(target): the file was \(what) after the plan was made. Run again, with a new plan.",
            target: target)
    }

    /// The time for the run is over; the summary says how far it came.
    static func deadlineIsOver(_ seconds: Int64?, _ summary: Summary) -> MirrorError {
        let words = seconds.map { " of \(DurationText(seconds: $0))" } ?? ""
        return MirrorError(
            .deadline,
            "The deadline\(words) is over: \(summary.interimCounts). Run again to go on.")
    }

    /// There is no room for a file without which its set is not whole.
    static func noRoomForSet(_ step: Step) -> MirrorError {
        MirrorError(
            .quotaLimit,
            "\(step.target): \(step.reason.because). Its manifest is all or nothing, so nothing of it was changed.",
            target: step.target)
    }

    /// One resource's transfer was cancelled, and the run continues.
    static func cancelled(_ target: Target) -> MirrorError {
        MirrorError(
            .cancelled, "\(target): cancelled before it was finished. Run again to go on.",
            target: target)
    }

    /// Something that is not a file is in the way, or a file that would not stay while it was read.
    static func obstructed(_ step: Step) -> MirrorError {
        if step.reason == .unread {
            return MirrorError(
                .sourceChanged,
                "\(step.target): \(step.reason.because). It was left as it is; run again when nothing writes to it.",
                target: step.target)
        }
        if step.reason == .unreadable {
            return MirrorError(
                .obstructed,
                "\(step.target): \(step.reason.because).",
                target: step.target, remedy: Remedy(.refetch, step.target.path))
        }
        return MirrorError(
            .obstructed,
            "\(step.target): \(step.reason.because). mirror replaces regular files only; move it away and run again.",
            target: step.target)
    }
}

extension Plan {
    /// The event for a step that failed.
    func failure(of step: Step, _ error: MirrorError) -> Event.Failed {
        let resource = resource(of: step)
        var error = error
        error.target = step.target
        return Event.Failed(
            target: step.target, step: step.kind, error: error,
            isOptional: resource?.isOptional ?? false,
            manifest: manifests[step.manifest].owner, line: resource?.line ?? 0)
    }
}

/// A way out of a failure, as a value: each program has words of its own for it, such as an option.
///
/// Advice that is the same in every program, such as "Run again later.", is part of the error's
/// message instead.
public struct Remedy: Sendable, Hashable {
    /// What helps. More kinds may come.
    public var kind: Kind
    /// The thing that the kind is about; empty if there is none.
    public var subject: String

    /// Takes what helps, and what it is about.
    public init(_ kind: Kind, _ subject: String = "") {
        self.kind = kind
        self.subject = subject
    }

    /// What helps against a failure.
    public struct Kind: RawRepresentable, Sendable, Hashable {
        /// A word that does not change, e.g. `choose-root`.
        public let rawValue: String

        /// Takes a word.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Name another folder as the root.
        public static let chooseRoot = Kind(rawValue: "choose-root")
        /// Name another folder as the root, or make this one a root by a first run.
        public static let makeRoot = Kind(rawValue: "make-root")
        /// Wait until the other run has ended.
        public static let waitForLock = Kind(rawValue: "wait-for-lock")
        /// Allow more removals; the subject is their number.
        public static let allowRemovals = Kind(rawValue: "allow-removals")
        /// Free space on the disk, or keep less of it free.
        public static let freeSpace = Kind(rawValue: "free-space")
        /// Let files that mirror did not put there be renamed (`ConflictPolicy.rename`).
        public static let renameConflicts = Kind(rawValue: "rename-conflicts")
        /// Fetch a target as if it were not there; the subject is the target.
        public static let refetch = Kind(rawValue: "refetch")
        /// Let the given manifest take a target over; the subject is the manifest's name.
        public static let takeOver = Kind(rawValue: "take-over")
        /// Run with the network once.
        public static let goOnline = Kind(rawValue: "go-online")
        /// Give a conflict copy up; the file at the target stays.
        public static let keepTheirs = Kind(rawValue: "keep-theirs")
        /// Permit values of the environment; the subject is a list of `NAME@ORIGIN`, by spaces.
        public static let grant = Kind(rawValue: "grant")
        /// Fetch what a manifest wants first.
        public static let syncFirst = Kind(rawValue: "sync-first")
        /// Name a manifest's new place once, or forget the manifest; the subject is its name.
        public static let nameManifest = Kind(rawValue: "name-manifest")
        /// Say at which URL the files of a list are.
        public static let nameBase = Kind(rawValue: "name-base")
        /// Say which package index has the files of a list.
        public static let nameIndex = Kind(rawValue: "name-index")
        /// Say which format a list has; the subject is the likeliest one, or empty.
        public static let nameFormat = Kind(rawValue: "name-format")

        /// Leave out what an export cannot hold.
        public static let leaveOut = Kind(rawValue: "leave-out")

        /// The kinds that this version knows.
        package static let all: [Kind] = [
            .chooseRoot, .makeRoot, .waitForLock, .allowRemovals, .freeSpace, .renameConflicts,
            .refetch, .takeOver, .goOnline, .keepTheirs, .grant, .syncFirst, .nameManifest,
            .nameBase, .nameIndex, .nameFormat, .leaveOut,
        ]
    }
}
