/// A file that a manifest wants and that is as mirror put it there, as its row of the index tells it.
///
/// Most files of a tree are such ones. No string is made of what the row holds, so a walk over a
/// million of them takes little time. The row is lent for the time of a call, so the value cannot be
/// kept: `target` can.
public struct IntactFile: ~Copyable {
    /// The size in bytes.
    public let size: Int64
    /// Whether the source would be asked now.
    public let freshness: Freshness
    private let facts: FileFacts<UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>>

    /// Takes the bytes of a row, of which the texts are valid UTF-8, and the path is that of a target.
    package init(
        path: UnsafeBufferPointer<UInt8>, owners: UnsafeBufferPointer<UInt8>, size: Int64,
        sha256: UnsafeBufferPointer<UInt8>, verified: Verification,
        source: UnsafeBufferPointer<UInt8>?, confirmedAt: Instant, freshness: Freshness
    ) {
        self.size = size
        self.freshness = freshness
        var facts = FileFacts<UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>>(
            path: path, state: .intact)
        facts.owners = owners
        facts.size = size
        facts.sha256 = sha256
        facts.verified = verified
        facts.source = source.map(SourceKey.withoutQuery)
        facts.confirmedAt = confirmedAt
        facts.freshness = freshness
        self.facts = facts
    }

    /// The target.
    public var target: Target { Target(unchecked: String(decoding: facts.path, as: UTF8.self)) }

    /// Whether the next sync asks about it.
    public var isDue: Bool {
        if case .due = freshness { return true }
        return false
    }

    /// What a line about it says: the file without its owners, digest and source.
    public var outline: StoredFile {
        var file = StoredFile(target: target, state: .intact)
        file.size = size
        file.verified = facts.verified
        file.confirmedAt = facts.confirmedAt
        file.freshness = freshness
        return file
    }

    /// Writes the file as `StoredFile` does.
    public func write(to json: inout JSONWriter) { facts.write(to: &json) }
}
