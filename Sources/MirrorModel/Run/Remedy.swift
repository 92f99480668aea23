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
