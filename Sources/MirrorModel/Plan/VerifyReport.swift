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
