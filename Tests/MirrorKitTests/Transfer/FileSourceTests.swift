import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Local files as sources: what is one, and what shows that it changed while it was read.
@Suite struct FileSourceTests {
    private let folder: Folder
    private var path: String { folder.full("source") }

    private var changed: Int? {
        var now = stat()
        return stat(path, &now) == 0 ? now.st_ctim.tv_nsec : nil
    }

    init() throws {
        folder = try Folder.temporary()
        try folder.write("source", Array("bytes".utf8))
    }

    @Test func anUntouchedFileHasNotChanged() throws {
        defer { folder.remove() }
        let source = try FileSource(path: path)
        #expect(try bytes(of: source) == Array("bytes".utf8))
    }

    @Test func bytesOfTheSameSizeAreAChange() throws {
        defer { folder.remove() }
        let source = try FileSource(path: path)
        let before = try #require(changed)
        // The kernel's clock moves in ticks: what is written within one has the same times.
        repeat {
            try folder.write("source", Array("other".utf8))
        } while changed == before
        guard case .failed(let failure) = try news(of: source) else {
            Issue.record("It was not noticed.")
            return
        }
        #expect(failure.code == .sourceChanged)
    }

    @Test func anotherModeIsAChange() throws {
        defer { folder.remove() }
        let source = try FileSource(path: path)
        let before = try #require(changed)
        repeat {
            chmod(path, 0o600)
        } while changed == before
        #expect(try bytes(of: source) == nil)
    }

    private func news(of source: FileSource) throws -> FileNews {
        let download = try Download.fetching("file:///f")
        return source.readAll(by: FileReading(number: 1, of: download, stallTimeout: 30))
    }

    private func bytes(of source: FileSource) throws -> [UInt8]? {
        guard case .copied(let memory, length: _) = try news(of: source) else { return nil }
        return memory
    }

    @Test func whatIsNoRegularFileIsRefused() throws {
        defer { folder.remove() }
        #expect(mkfifo(folder.full("pipe"), 0o600) == 0)
        try folder.makeFolders(above: "folder/.")
        for name in ["pipe", "folder", "absent"] {
            #expect(throws: ResponseError.self, "\(name)") {
                try FileSource(path: folder.full(name))
            }
        }
        #expect(throws: ResponseError.self) { try FileSource(path: "/dev/null") }
    }
}
