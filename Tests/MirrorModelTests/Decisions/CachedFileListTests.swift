import Testing

@testable import MirrorKit

@Suite struct CachedFileListTests {
    private func file(_ number: Int) throws -> CachedFile {
        CachedFile(
            target: try Target("Caches/\(number)/é"),
            stamp: FileStamp(
                size: Int64(number), modified: 1, changed: 2, inode: UInt64(number)),
            lastUsed: Instant(milliseconds: Int64(1000 - number)),
            state: number.isMultiple(of: 3) ? .inUse : .idle)
    }

    @Test func cachedFileListReturnsWhatWasAdded() throws {
        let files = try (0..<20_000).map(file)
        #expect(Array(CachedFileList(files)) == files)
    }

    @Test func aSelectionHasAnOrderOfItsOwn() throws {
        let files = try (0..<10).map(file)
        let some = CachedFileList(files).selecting([7, 2, 5])
        #expect(Array(some) == [files[7], files[2], files[5]])
        #expect(Array(some.selecting([2, 0])) == [files[5], files[7]])
        #expect(some.compare(0, 1) > 0)
        var more = some
        more.append(files[1])
        #expect(Array(more) == [files[7], files[2], files[5], files[1]])
    }
}
