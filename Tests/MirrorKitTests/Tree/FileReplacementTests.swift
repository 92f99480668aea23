import Glibc
@testable import MirrorKit
import Testing

/// A file outside the tree is replaced whole, or left as it was.
@Suite struct FileReplacementTests {
    private struct Stop: Error {}

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    @Test func replacementTakesThePlaceAndKeepsTheMode() throws {
        let folder = try TemporaryFolder()
        try folder.write("old", to: "m.json")
        chmod(folder.path + "/m.json", 0o640)
        try FileReplacement(of: folder.path + "/m.json").write { sink in
            try sink(Array("ne".utf8))
            try sink(Array("w".utf8))
        }
        #expect(folder.text(of: "m.json") == "new")
        #expect(mode(folder.path + "/m.json") == 0o640)
        #expect(folder.names() == ["m.json"])
    }

    /// It may have secrets, and a killed process leaves what it had written.
    @Test func aClosedFileIsReplacedWithoutOpeningIt() throws {
        let folder = try TemporaryFolder()
        try folder.write("old", to: "m.json")
        chmod(folder.path + "/m.json", 0o600)
        try FileReplacement(of: folder.path + "/m.json").write { sink in
            try sink(Array("new".utf8))
            let hidden = try #require(folder.names().first { $0 != "m.json" })
            #expect(mode(folder.path + "/" + hidden) == 0o600)
        }
        #expect(mode(folder.path + "/m.json") == 0o600)
    }

    @Test func temporaryFilesOfKilledProcessesAreRemoved() throws {
        let folder = try TemporaryFolder()
        let left = [".mirror-0123456789abcdef", ".mirror-fedcba9876543210"]
        let others = [".mirror-0123456789abcde", ".mirror-notes", ".mirror-0123456789abcdeX"]
        for name in left + others { try folder.write("x", to: name) }
        // Another process is writing this one.
        let held = open(folder.path + "/" + left[1], O_RDONLY | O_CLOEXEC)
        defer { close(held) }
        try #require(flock(held, LOCK_EX | LOCK_NB) == 0)
        try FileReplacement(of: folder.path + "/m.json").write { try $0(Array("new".utf8)) }
        #expect(Set(folder.names()) == Set(others + [left[1], "m.json"]))
    }

    /// A rename would put the file in place of the link.
    @Test(arguments: [("absent", FailureCode.usage), ("m.json", .obstructed)])
    func aLinkThatCannotBeFollowedIsRefused(destination: String, code: FailureCode) throws {
        let folder = try TemporaryFolder()
        #expect(symlink(destination, folder.path + "/m.json") == 0)
        let error = #expect(throws: MirrorError.self) {
            _ = try FileReplacement(of: folder.path + "/m.json")
        }
        #expect(error?.code == code)
        #expect(folder.names() == ["m.json"])
    }

    @Test func failedReplacementLeavesTheOldFile() throws {
        let folder = try TemporaryFolder()
        try folder.write("old", to: "m.json")
        #expect(throws: Stop.self) {
            try FileReplacement(of: folder.path + "/m.json").write { sink in
                try sink(Array("half".utf8))
                throw Stop()
            }
        }
        #expect(folder.text(of: "m.json") == "old")
        #expect(folder.names() == ["m.json"])
    }

    @Test(arguments: [true, false])
    func replacementRefusesAFileChangedMeanwhile(wasThere: Bool) throws {
        let folder = try TemporaryFolder()
        if wasThere { try folder.write("old", to: "m.json") }
        let replacement = try FileReplacement(of: folder.path + "/m.json")
        let error = try #require(throws: MirrorError.self) {
            try replacement.write { sink in
                try sink(Array("new".utf8))
                try folder.write("theirs", to: "m.json")
            }
        }
        #expect(error.code == .inputOutput)
        #expect(folder.text(of: "m.json") == "theirs")
        #expect(folder.names() == ["m.json"])
    }

    @Test func replacementOfALinkReplacesItsTarget() throws {
        let folder = try TemporaryFolder()
        try folder.write("old", to: "real/m.json")
        try #require(symlink("real/m.json", folder.path + "/link.json") == 0)
        let replacement = try FileReplacement(of: folder.path + "/link.json")
        #expect(replacement.folder?.hasSuffix("/real") == true)
        try replacement.write { sink in try sink(Array("new".utf8)) }
        #expect(folder.text(of: "real/m.json") == "new")
        var status = stat()
        lstat(folder.path + "/link.json", &status)
        #expect(status.st_mode & S_IFMT == S_IFLNK)
    }

    @Test func aDeviceIsNotReplaced() throws {
        let error = try #require(throws: MirrorError.self) {
            _ = try FileReplacement(of: "/dev/null")
        }
        #expect(error.code == .usage)
    }
}
