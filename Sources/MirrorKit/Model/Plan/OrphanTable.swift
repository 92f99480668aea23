/// Files that no manifest wants any more, kept compactly: 64 bytes each besides path and digest.
///
/// The table keeps the values that a removal needs. Hashes show whether an orphan may have the
/// bytes of a wanted file. The rest of the row is in the index.
struct OrphanTable: Sendable, RandomAccessCollection {
    private struct Record {
        /// Where the path is in `arena`; the sha256 follows the path.
        var position: ByteArena.Position
        let pathLength: UInt32
        let manifest: UInt32
        let stamp: FileStamp
        /// The start of a digest of another algorithm, or 0.
        let otherStart: UInt64
        /// The hash of the source that vouches for the bytes with a strong validator, or 0.
        let source: UInt64
    }

    private var arena = ByteArena()
    private var records = BlockArray<Record>()

    /// A table without files.
    init() {}

    /// 0.
    var startIndex: Int { 0 }
    /// How many files there are.
    var endIndex: Int { records.count }

    /// Adds the file of a row at the end, with the stamp that the file has now.
    ///
    /// `manifest` is the position of the manifest that has the name of the file's owner.
    mutating func append(_ row: IndexRecord, stamp: FileStamp, manifest: Int) {
        var path = row.target.path
        let position = arena.reserve(path.utf8.count + row.sha256.bytes.count)
        path.withUTF8 { arena.append($0) }
        row.sha256.bytes.withUnsafeBufferPointer { arena.append($0) }
        let source = row.validators.strong == nil ? nil : row.provenance?.source
        records.append(
            Record(
                position: position, pathLength: UInt32(path.utf8.count),
                manifest: UInt32(manifest), stamp: stamp, otherStart: row.otherDigest?.start ?? 0,
                source: source.map(OrphanTable.hash) ?? 0))
    }

    /// Adds the files of another table. Their targets must come after those of this table.
    mutating func append(contentsOf other: consuming OrphanTable) {
        let shift = arena.append(blocksOf: other.arena)
        records.append(contentsOf: other.records) { record in
            var record = record
            record.position += shift
            return record
        }
    }

    /// Removes the files for whose targets `isAway` returns true.
    ///
    /// Their paths and digests stay in memory.
    mutating func removeAll(where isAway: (Target) -> Bool) {
        var rest = BlockArray<Record>()
        for position in indices where !isAway(target(at: position)) {
            rest.append(records[position])
        }
        records = rest
    }

    /// A file by its position: target, manifest, stamp as it is now, and sha256 of its bytes.
    subscript(position: Int) -> (
        target: Target, manifest: Int, stamp: FileStamp, sha256: Digest
    ) {
        let record = records[position]
        let sha256 = arena.withBytes(
            at: record.position, offset: Int(record.pathLength),
            count: DigestAlgorithm.sha256.byteCount
        ) { Array($0) }
        guard let sha256 = Digest(.sha256, bytes: sha256) else {
            // `append` stored as many bytes as are read here.
            preconditionFailure("an orphan without a digest")
        }
        return (target(at: position), Int(record.manifest), record.stamp, sha256)
    }

    /// Returns the target of an orphan without building its other values.
    func target(at position: Int) -> Target {
        let record = records[position]
        return arena.withBytes(at: record.position, count: Int(record.pathLength)) {
            Target(unchecked: String(decoding: $0, as: UTF8.self))
        }
    }

    /// Returns the stamp of an orphan without building its other values.
    func stamp(at position: Int) -> FileStamp { records[position].stamp }

    /// Returns the number of a source in this table. It is never 0, and differs between processes.
    static func hash(of source: SourceKey) -> UInt64 {
        Swift.max(1, UInt64(bitPattern: Int64(source.hashValue)))
    }

    /// Whether a file may have a wanted digest, or bytes of a wanted source.
    ///
    /// False is certain, and true is not. `digests` has the starts of digests, `sources` the hashes
    /// of sources.
    func mayHave(
        at position: Int, digests: SortedHashes, sources: SortedHashes
    ) -> Bool {
        let record = records[position]
        let start = arena.withBytes(
            at: record.position, offset: Int(record.pathLength), count: 8
        ) { Digest.start(of: UnsafeRawBufferPointer($0)) }
        return digests.contains(start)
            || record.otherStart != 0 && digests.contains(record.otherStart)
            || record.source != 0 && sources.contains(record.source)
    }
}
