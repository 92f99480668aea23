import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Whole files are copied, whatever else reads them.
@Suite struct FileCopyTests {
    /// Two descriptors of one opening share its position.
    @Test(arguments: [0, 1, 70_000])
    func aCopyIsWholeWhereverThePositionIs(_ position: Int) throws {
        let folder = try TemporaryFolder()
        let bytes = TestBytes.make(70_000, seed: 1)
        try folder.write(bytes, to: "a")
        let source = Descriptor(owning: open(folder.path + "/a", O_RDONLY | O_CLOEXEC))
        #expect(lseek(source.number, off_t(position), SEEK_SET) == off_t(position))
        let flags = O_RDWR | O_CREAT | O_CLOEXEC
        let copy = Descriptor(owning: open(folder.path + "/b", flags, 0o600))
        try source.copy(to: copy, path: "b")
        #expect(folder.bytes(of: "b") == bytes)
        #expect(lseek(source.number, 0, SEEK_CUR) == off_t(position))
    }
}
