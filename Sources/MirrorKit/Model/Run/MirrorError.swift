/// What failed, where, why, and what to do next: the one error that callers of the library see.
///
/// The message is a whole sentence for people, without secrets; the other fields are for scripts.
public struct MirrorError: Error, Sendable, Hashable {
    // An object keeps results and messages small: each has room for an error, and few have one.
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
        var leftOut: Reason?
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

    /// What helps, as a value for which each program has its own words.
    ///
    /// `nil` means that the message has any advice there is.
    public var remedy: Remedy? {
        get { facts.value.remedy }
        set { facts.value.remedy = newValue }
    }

    /// The target that the error is about. `nil` means that it is about no single target.
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

    /// The value that was found instead of `expected`.
    public var actual: String? {
        get { facts.value.actual }
        set { facts.value.actual = newValue }
    }

    /// The sources that were tried, in order, without their queries.
    public var tried: [String] {
        get { facts.value.tried }
        set { facts.value.tried = newValue }
    }

    /// Why there is no room for a body, where that is the error.
    var leftOut: Reason? {
        get { facts.value.leftOut }
        set { facts.value.leftOut = newValue }
    }

    /// Whether running again may help: a status of 503 may pass, a status of 404 will not.
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
    /// Returns the message without the target that it begins with, for a line that has named it.
    public func message(without target: Target) -> String {
        let prefix = target.path + ": "
        return message.utf8.starts(with: prefix.utf8)
            ? String(message.utf8.dropFirst(prefix.utf8.count)) ?? message : message
    }
}

extension MirrorError {
    /// Writes the error's fields as members of an object.
    func writeMembers(to json: inout JSONWriter) {
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

/// The errors of steps that a run cannot carry out, and of the end of a run.
extension MirrorError {
    /// The target has a file that mirror did not put there, and the caller wants it kept.
    static func conflictKept(_ target: Target) -> MirrorError {
        MirrorError(
            .conflict,
            "\(target): it has bytes that mirror did not put there, and such files are to be kept.",
            target: target, remedy: Remedy(.renameConflicts))
    }

    /// The file at a target changed, or is gone, since the plan was made.
    static func changedSincePlan(_ target: Target, isGone: Bool) -> MirrorError {
        let what = isGone ? "removed" : "changed"
        return MirrorError(
            .sourceChanged,
            "\(target): the file was \(what) after the plan was made. Run again, with a new plan.",
            target: target)
    }

    /// The run's deadline is over. `summary` has how far the run came.
    static func deadlineIsOver(_ seconds: Int64?, _ summary: Summary) -> MirrorError {
        let words = seconds.map { " of \(DurationText(seconds: $0))" } ?? ""
        return MirrorError(
            .deadline,
            "The deadline\(words) is over: \(summary.interimCounts). Run again to go on.")
    }

    /// There is no room for a body, on the disk or within the quota.
    init(leftOut target: Target, because reason: Reason) {
        self.init(.spaceLimit, "\(target): \(reason.because).", target: target)
        leftOut = reason
    }

    /// There is no room for a file, so its set cannot be complete.
    static func noRoomForSet(_ target: Target, _ reason: Reason) -> MirrorError {
        var remedy: Remedy?
        if case .noRoom(let shortage) = reason { remedy = shortage.remedy }
        return MirrorError(
            remedy == nil ? .quotaLimit : .spaceLimit,
            "\(target): \(reason.because). Its manifest is all or nothing, so nothing of it was changed.",
            target: target, remedy: remedy)
    }

    /// The caller cancelled one target's transfer. The run continues.
    static func cancelled(_ target: Target) -> MirrorError {
        MirrorError(
            .cancelled, "\(target): cancelled before it was finished. Run again to go on.",
            target: target)
    }

    /// The target has an entry that is no regular file, or a file that mirror could not read.
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
    /// Returns the event for a step that failed.
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

/// What helps against an error, as a value for which each program has its own words.
///
/// The command's words name an option, for example. Advice that is the same in every program, such
/// as "Run again later.", is part of the error's message instead.
public struct Remedy: Sendable, Hashable {
    /// What helps. More kinds may come.
    public var kind: Kind
    /// The name or number that the kind refers to. Empty if the kind refers to nothing.
    public var subject: String

    /// Takes a kind and its subject.
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
        /// Allow more removals. The subject is the number of removals.
        public static let allowRemovals = Kind(rawValue: "allow-removals")
        /// Free space on the disk, or require less free space.
        public static let freeSpace = Kind(rawValue: "free-space")
        /// Let files that mirror did not put there be renamed (`ConflictPolicy.rename`).
        public static let renameConflicts = Kind(rawValue: "rename-conflicts")
        /// Fetch a target as if no file were there. The subject is the target.
        public static let refetch = Kind(rawValue: "refetch")
        /// Let the given manifest take a target over; the subject is the manifest's name.
        public static let takeOver = Kind(rawValue: "take-over")
        /// Run with the network once.
        public static let goOnline = Kind(rawValue: "go-online")
        /// Give a conflict copy up; the file at the target stays.
        public static let keepTheirs = Kind(rawValue: "keep-theirs")
        /// Permit values of the environment. The subject lists `NAME@ORIGIN`, separated by spaces.
        public static let grant = Kind(rawValue: "grant")
        /// Run a sync first, which fetches what a manifest wants.
        public static let syncFirst = Kind(rawValue: "sync-first")
        /// Name a manifest's new place once, or forget the manifest.
        ///
        /// The subject is the manifest's name.
        public static let nameManifest = Kind(rawValue: "name-manifest")
        /// Say at which URL the files of a list are.
        public static let nameBase = Kind(rawValue: "name-base")
        /// Say which package index has the files of a list.
        public static let nameIndex = Kind(rawValue: "name-index")
        /// Say which format a list has; the subject is the likeliest one, or empty.
        public static let nameFormat = Kind(rawValue: "name-format")
        /// Give the server a client certificate. The subject is the server's origin.
        public static let giveCertificate = Kind(rawValue: "give-certificate")
        /// Fetch the file of a URL, which is no manifest.
        public static let get = Kind(rawValue: "get")
        /// Leave out what an export cannot hold.
        public static let leaveOut = Kind(rawValue: "leave-out")

        /// The kinds that this version knows.
        static let all: [Kind] = [
            .chooseRoot, .makeRoot, .waitForLock, .allowRemovals, .freeSpace, .renameConflicts,
            .refetch, .takeOver, .goOnline, .keepTheirs, .grant, .syncFirst, .nameManifest,
            .nameBase, .nameIndex, .nameFormat, .giveCertificate, .get, .leaveOut,
        ]
    }
}
