/// A file of the tree as a caller sees it: where it is, how fresh, how sure.
public struct StoredFile: Sendable, Hashable {
    /// The target.
    public var target: Target
    /// The manifests that it is of; nil for a file that the index does not know.
    public var owners: Owners?
    /// The result of a look at the file.
    public var state: State
    /// The size in bytes; nil when it is not there.
    public var size: Int64?
    /// The sha256 of the bytes that mirror put there.
    public var sha256: Digest?
    /// How those bytes were verified.
    public var verified: Verification?
    /// Where they came from, without a query.
    public var source: String?
    /// How far the validators that were sent with them identify them; nil without a source.
    public var validator: ValidatorStrength?
    /// When the source last confirmed them.
    public var confirmedAt: Instant?
    /// Whether the source would be asked now; nil when no manifest at hand wants the file.
    public var freshness: Freshness?
    /// Whether all manifests that own it are at hand and have names, and none names it any more.
    public var isOrphan = false
    /// Bytes of an unfinished download.
    public var partBytes: Int64 = 0
    /// The target that a conflict copy had to make room at.
    public var conflictOf: Target?

    /// The result of a look at a file.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// As mirror put it there.
        case intact
        /// Other bytes, or not known whether: its stamp is another one, and it was not read.
        case changed
        /// Wanted or known, and not there.
        case missing
        /// Wanted and not there: it was left out because there was no room for it.
        case evicted
        /// There, and the index does not know it.
        case untracked = "stranger"
        /// Something that is not a regular file is there.
        case obstructed
        /// Made room for a new version; `mirror resolve` ends the conflict.
        case conflict
    }

    /// A file of which only its target and its state are known.
    public init(target: Target, state: State) {
        self.target = target
        self.state = state
    }

    /// A conflict copy.
    public init(_ copy: ConflictCopy) {
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

    /// When it ends, where that is known.
    public var end: Instant? {
        if case .fresh(let until) = self { return until }
        return nil
    }
}

extension StoredFile {
    /// Writes the file as one JSON object; keys that do not apply are null.
    public func write(to json: inout JSONWriter) {
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
    /// The digest that was expected; nil when none is known.
    public var expected: Digest?
    /// The digest of the present bytes; nil when nothing could be read.
    public var actual: Digest?

    /// How a file differs.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Not there.
        case missing
        /// Its bytes differ from those that mirror put there.
        case changed
        /// It has the bytes that mirror put there, but the manifest wants others.
        case outdated
        /// Not known to the index.
        case untracked = "stranger"
        /// Not a regular file.
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
    /// How many files were read.
    public var files = 0
    /// How many bytes were read.
    public var bytes: Int64 = 0
    /// How many files were left out for lack of room; they are not differences.
    public var evicted = 0
    /// The differences, in the order of the targets' bytes.
    public var discrepancies: [Discrepancy] = []

    /// Files that made room for a new version and wait to be resolved; they are not differences.
    public var conflicts: [ConflictCopy] = []

    /// A report of nothing.
    public init(root: String) { self.root = root }

    /// Writes the report as one JSON document.
    public func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("v", 1)
            json.member("root", root)
            json.key("differences")
            json.array { json in
                for difference in discrepancies {
                    json.object { json in
                        json.member("path", difference.target.path)
                        json.member("state", difference.kind.rawValue)
                        json.member("expected", difference.expected?.description)
                        json.member("actual", difference.actual?.description)
                    }
                }
            }
            json.key("conflicts")
            json.array { json in
                for conflict in conflicts {
                    json.object { json in
                        json.member("path", conflict.target.path)
                        json.member("copy", conflict.copy.path)
                        json.member("size", conflict.size)
                    }
                }
            }
            json.key("totals")
            json.object { json in
                json.member("files", files)
                json.member("bytes", bytes)
                json.member("differences", discrepancies.count)
                json.member("conflicts", conflicts.count)
                json.member("evicted", evicted)
            }
        }
    }
}
