import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

@Suite struct RootDirectoryTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(arguments: [true, false])
    func foldersAreMadeWhenFirstNeeded(openat2: Bool) throws {
        let root = try RootDirectory(opening: folder.path, allowsOpenat2: openat2)
        #expect(throws: Errno.self) { try root.openFolder("Caches/a") }
        _ = try root.makeFolder("Caches/a/b")
        _ = try root.openFolder("Caches/a/b")
        #expect(root.takeUnflushedFolders().count == 3)
        #expect(root.takeUnflushedFolders().isEmpty)
    }

    @Test(arguments: [true, false])
    func aSymbolicLinkIsNotFollowed(openat2: Bool) throws {
        let outside = try TemporaryFolder()
        try outside.write("secret", to: "file")
        try folder.write("x", to: "Caches/real")
        symlink(outside.path, folder.path + "/Caches/link")
        symlink("real", folder.path + "/Caches/near")
        let root = try RootDirectory(opening: folder.path, allowsOpenat2: openat2)
        for path in ["Caches/link", "Caches/link/deeper"] {
            let error = #expect(throws: Errno.self) { try root.makeFolder(path) }
            #expect(error?.number == ELOOP)
        }
        #expect(throws: Errno.self) { try root.openFile("Caches/link/file") }
        #expect(throws: Errno.self) { try root.openFile("Caches/near") }
        #expect(outside.names() == ["file"])
    }

    @Test(arguments: [true, false])
    func filesInPlaceOfFoldersAreErrors(openat2: Bool) throws {
        try folder.write("x", to: "Caches/a")
        let root = try RootDirectory(opening: folder.path, allowsOpenat2: openat2)
        let error = #expect(throws: Errno.self) { try root.makeFolder("Caches/a/b") }
        #expect(error?.number == ENOTDIR)
    }

    @Test func aRootThatIsAFileIsRefused() throws {
        try folder.write("x", to: "file")
        let error = #expect(throws: MirrorError.self) {
            try RootDirectory(opening: folder.path + "/file")
        }
        #expect(error?.code == .rootUnusable)
    }
}
