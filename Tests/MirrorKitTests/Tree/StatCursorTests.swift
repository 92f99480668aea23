import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

@Suite struct StatCursorTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func statCursorDistinguishesKindsOfEntries() throws {
        try folder.write("hello", to: "Caches/a/file")
        try folder.write("x", to: "Caches/a/folder/inner")
        symlink("file", folder.path + "/Caches/a/link")
        mkfifo(folder.path + "/Caches/a/pipe", 0o644)
        symlink("a", folder.path + "/Caches/linked")
        var scan = StatCursor(try RootDirectory(opening: folder.path))
        guard case .file(let stamp) = try scan.look(at: Target("Caches/a/file"))
        else {
            Issue.record("the file was not seen")
            return
        }
        #expect(stamp.size == 5)
        #expect(stamp.inode > 0)
        #expect(try scan.look(at: Target("Caches/a/folder")) == .other(.folder))
        #expect(try scan.look(at: Target("Caches/a/link")) == .other(.symbolicLink))
        #expect(try scan.look(at: Target("Caches/a/pipe")) == .other(.fifo))
        #expect(try scan.look(at: Target("Caches/a/none")) == .absent)
        #expect(try scan.look(at: Target("Caches/none/at/all")) == .absent)
        #expect(try scan.look(at: Target("Caches/linked/file")) == .other(.symbolicLink))
        #expect(try scan.look(at: Target("Caches/a/file/x")) == .other(.fileAsFolder))
    }

    @Test func composedAndDecomposedFoldersAreTwo() throws {
        try folder.write("1", to: "Caches/\u{E9}/f")
        try folder.write("22", to: "Caches/e\u{301}/f")
        var scan = StatCursor(try RootDirectory(opening: folder.path))
        for (name, size) in [("\u{E9}", 1), ("e\u{301}", 2)] {
            guard case .file(let stamp) = try scan.look(at: Target("Caches/\(name)/f")) else {
                Issue.record("not seen")
                continue
            }
            #expect(stamp.size == size)
        }
    }

    @Test func aFileIsHashedOnceForTwoAlgorithms() throws {
        let bytes = [UInt8](repeating: 7, count: 3 << 20) + [1, 2, 3]
        try folder.write(bytes, to: "Documents/f")
        let root = try RootDirectory(opening: folder.path)
        let read = try FileDigests.read(
            Target("Documents/f"), in: root, algorithms: [.sha256, .md5])
        #expect(
            read?.digests == [
                ByteHasher.digest(.sha256, of: bytes), ByteHasher.digest(.md5, of: bytes),
            ])
        #expect(read?.stamp.size == Int64(bytes.count))
        #expect(try FileDigests.read(Target("Documents/none"), in: root) == nil)
    }
}
