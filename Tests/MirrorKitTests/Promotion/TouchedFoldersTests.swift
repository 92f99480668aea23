import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

@Suite struct TouchedFoldersTests {
    /// A failed flush would be final, and cost every part. What was renamed into the folder is gone, too.
    @Test func aRemovedFolderIsNoFailedFlush() throws {
        let folder = try TemporaryFolder()
        try folder.write("x", to: "Caches/a/x")
        try folder.write("y", to: "Caches/b/y")
        var touched = TouchedFolders(try RootDirectory(opening: folder.path))
        touched.touch(folderOf: "Caches/a/x")
        touched.touch(folderOf: "Caches/b/y")
        touched.cache.drop()
        #expect(unlink(folder.path + "/Caches/a/x") == 0)
        #expect(rmdir(folder.path + "/Caches/a") == 0)
        try touched.flush(besides: nil)
        // One that cannot be opened may hold what was promised.
        #expect(symlink("b", folder.path + "/Caches/a") == 0)
        #expect(throws: Errno.self) { try touched.flush(besides: nil) }
    }
}
