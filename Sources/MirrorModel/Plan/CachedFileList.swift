/// Files in Caches, kept compactly: some 60 bytes and the path for each of maybe a million.
public struct CachedFileList: Sendable {
    private var paths = ByteArena()
    private var records = BlockArray<Record>()
    /// The records that are in the list, in its order; nil for all of them as they came.
    private var order: [UInt32]?

    private struct Record {
        var path: ByteArena.Position
        var length: UInt16
        var state: CachedFile.State
        var lastUsed: Instant
        var stamp: FileStamp
    }

    /// Takes files in their order.
    public init(_ files: some Sequence<CachedFile> = EmptyCollection<CachedFile>()) {
        for file in files { append(file) }
    }

    /// Adds a file at the end.
    public mutating func append(_ file: CachedFile) {
        if order != nil { self = CachedFileList(Array(self)) }
        var path = file.target.path
        let record = Record(
            path: paths.reserve(path.utf8.count), length: UInt16(path.utf8.count),
            state: file.state, lastUsed: file.lastUsed, stamp: file.stamp)
        path.withUTF8 { paths.append($0) }
        records.append(record)
    }

    /// The files at some positions, in their order; the two lists share their storage.
    func selecting(_ positions: some Sequence<Int>) -> CachedFileList {
        var list = self
        list.order = positions.map { UInt32(place($0)) }
        return list
    }

    /// The values that decide whether a file is evicted, without its path.
    func brief(
        at position: Int
    ) -> (size: Int64, lastUsed: Instant, state: CachedFile.State) {
        let record = records[place(position)]
        return (record.stamp.size, record.lastUsed, record.state)
    }

    /// Negative, zero or positive as the first path's bytes come before, with or after the other's.
    func compare(_ first: Int, _ second: Int) -> Int {
        withPath(of: records[place(first)]) { first in
            withPath(of: records[place(second)]) { ByteOrder.compare(first, $0) }
        }
    }

    private func place(_ position: Int) -> Int { order.map { Int($0[position]) } ?? position }

    private func withPath<Result>(
        of record: Record, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        paths.withBytes(at: record.path, count: Int(record.length), body)
    }
}

extension CachedFileList: RandomAccessCollection {
    /// 0.
    public var startIndex: Int { 0 }
    /// How many files there are.
    public var endIndex: Int { order?.count ?? records.count }

    /// The file at a position.
    public subscript(position: Int) -> CachedFile {
        let record = records[place(position)]
        let path = withPath(of: record) { String(decoding: $0, as: UTF8.self) }
        return CachedFile(
            target: Target(unchecked: path), stamp: record.stamp, lastUsed: record.lastUsed,
            state: record.state)
    }
}
