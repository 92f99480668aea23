/// A file of the tree as a caller sees it: its place, its state, and how mirror knows its bytes.
public struct StoredFile: Sendable, Hashable {
    /// The target.
    public var target: Target
    /// The manifests that own the file. `nil` means that the index does not know the file.
    var owners: Owners?
    /// The result of a look at the file.
    public var state: State
    /// The size in bytes. `nil` means that the file is not there.
    public var size: Int64?
    /// The sha256 of the bytes that mirror put there.
    public var sha256: Digest?
    /// How the bytes that mirror put there were verified.
    public var verified: Verification?
    /// Where the bytes that mirror put there came from, without a query.
    public var source: String?
    /// How far the validators sent with the bytes identify them. `nil` means no source.
    package var validator: ValidatorStrength?
    /// When the source last confirmed the bytes that mirror put there.
    public var confirmedAt: Instant?
    /// Whether mirror would ask the source now. `nil` if no manifest at hand wants the file.
    package var freshness: Freshness?
    /// Whether the owning manifests are all at hand and have names, and no longer name the file.
    public var isOrphan = false
    /// The bytes of an unfinished download for the target.
    public var partBytes: Int64 = 0
    /// The target at which a conflict copy made room. `nil` for any other file.
    public var conflictOf: Target?

    /// The result of a look at a file.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// The file is as mirror put it there.
        case intact
        /// The file has another stamp, and its bytes differ, or were not or cannot be read.
        case changed
        /// The file is wanted or known, and is not there.
        case missing
        /// The file is wanted and not there, because it was left out for lack of room.
        case evicted
        /// The file is there, and the index does not know it.
        case untracked = "stranger"
        /// An entry that is no regular file is there.
        case obstructed
        /// The file made room for a new version; `mirror resolve` ends the conflict.
        case conflict
    }

    /// Whether mirror would ask the source now. `nil` if no manifest at hand wants the file.
    public var isDue: Bool? { freshness.map { if case .due = $0 { true } else { false } } }

    /// The time until which mirror does not ask the source. `nil` if the file is due, or never is.
    public var freshUntil: Instant? {
        if case .fresh(let until)? = freshness { until } else { nil }
    }

    /// Makes a file of which only target and state are known.
    public init(target: Target, state: State) {
        self.target = target
        self.state = state
    }

    /// Makes the file of a conflict copy.
    init(_ copy: ConflictCopy) {
        self.init(target: copy.copy, state: .conflict)
        size = copy.size
        conflictOf = copy.target
    }
}

extension Freshness {
    /// One word for scripts.
    public var word: String {
        switch self {
        case .fresh: "fresh"
        case .due: "due"
        }
    }

    /// When the freshness ends, where this is known.
    public var end: Instant? {
        if case .fresh(let until) = self { return until }
        return nil
    }
}

extension StoredFile {
    /// Writes the file as one JSON object. Keys that do not apply are null.
    package func write(to json: inout JSONWriter) {
        let names = owners?.names ?? []
        json.beginObject()
        json.member("path", target.path)
        json.member("state", state.rawValue)
        json.member("manifest", names.first)
        json.member("manifests", names)
        json.member("size", size)
        json.member("sha256", sha256?.hex)
        json.member("verified", verified?.rawValue)
        json.member("source", source)
        json.member("confirmed", confirmedAt)
        json.member("fresh", freshness?.word)
        json.member("freshUntil", freshness?.end)
        json.member("orphan", isOrphan)
        json.member("partBytes", partBytes)
        json.member("conflictOf", conflictOf?.path)
        json.endObject()
    }
}

/// A file whose bytes differ from those that the index or a manifest names.
public struct Discrepancy: Sendable, Hashable {
    /// The target.
    public var target: Target
    /// The kind of difference.
    public var kind: Kind
    /// The digest that was expected. `nil` means that no digest is known.
    public var expected: Digest?
    /// The digest of the present bytes. `nil` means that they could not be read.
    public var actual: Digest?

    /// How a file differs.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The file is not there.
        case missing
        /// The file's bytes differ from those that mirror put there.
        case changed
        /// The file has the bytes that mirror put there, but the manifest wants others.
        case outdated
        /// The index does not know the file.
        case untracked = "stranger"
        /// The entry at the target is no regular file.
        case obstructed
        /// The disk or the file's mode prevented reading, or the file changed while it was read.
        case unreadable
    }

    /// Takes the expected and the actual digest.
    public init(target: Target, kind: Kind, expected: Digest?, actual: Digest?) {
        self.target = target
        self.kind = kind
        self.expected = expected
        self.actual = actual
    }
}

/// The result of reading every file again.
public struct VerifyReport: Sendable {
    /// The root's path.
    public var root: String
    /// The part of all targets that the report is about, such as `3/8`. `nil` means all of them.
    package var shard: String?
    /// How many files were read.
    public var files = 0
    /// How many bytes were read.
    public var bytes: Int64 = 0
    /// How many files were left out for lack of room. They do not count as differences.
    public var evicted = 0
    /// The differences, in the order of the targets' bytes.
    public var discrepancies: [Discrepancy] = []

    /// Files that made room for a new version, and whose conflicts are not resolved yet.
    ///
    /// They do not count as differences.
    package var conflicts: [ConflictCopy] = []

    /// Makes an empty report.
    public init(root: String) { self.root = root }

    /// Writes the report as one JSON document.
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("v", 1)
            json.member("root", root)
            if let shard { json.member("shard", shard) }
            json.objects("differences", discrepancies) { difference, json in
                json.member("path", difference.target.path)
                json.member("state", difference.kind.rawValue)
                json.member("expected", difference.expected?.description)
                json.member("actual", difference.actual?.description)
            }
            json.objects("conflicts", conflicts) { conflict, json in
                json.member("path", conflict.target.path)
                json.member("copy", conflict.copy.path)
                json.member("size", conflict.size)
            }
            json.object("totals") { json in
                json.member("files", files)
                json.member("bytes", bytes)
                json.member("differences", discrepancies.count)
                json.member("conflicts", conflicts.count)
                json.member("evicted", evicted)
            }
        }
    }
}
