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
