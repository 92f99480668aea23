import Glibc
import MirrorTestSupport
import Testing

/// What an export never does: half a folder, wrong bytes, or a way into the tree.
@Suite(.timeLimit(.minutes(10))) struct ExportSafetyTests {
    private static let one = TestBytes.make(3000, seed: 1)
    private static let two = TestBytes.make(5000, seed: 2)

    private func stage() async throws -> SyncedStage {
        let stage = try SyncedStage()
        try await stage.sync([
            stage.entry("Documents/one.bin", Self.one, url: "one.bin"),
            stage.entry("Documents/two.bin", Self.two, url: "two.bin"),
        ])
        return stage
    }

    @Test func anEditedFileIsNeverExported() async throws {
        let stage = try await stage()
        defer { stage.end() }
        try stage.ground.root.write("Documents/two.bin", TestBytes.make(5000, seed: 3))
        let refused = try await stage.export("bagit", to: "bag")
        #expect(refused.ending == .exited(1))
        #expect(
            refused.errors.hasPrefix(
                "mirror: error: 1 file cannot be exported as bagit, so nothing was written: "
                    + "1 not in the tree as the manifest wants it (mirror sync brings it), such as "
                    + "Documents/two.bin. Leave them out with --lossy.\n"), "\(refused)")
        let names = { stage.ground.folder.entries().map(\.name).filter { $0.contains("bag") } }
        #expect(names() == [])
        let partial = try await stage.export("bagit", to: "bag", ["--lossy"])
        #expect(partial.ending == .exited(0))
        #expect(partial.errors.hasPrefix("mirror: note: left out: 1 not in the tree"))
        #expect(names().contains("bag/data/Documents/one.bin"))
        #expect(!names().contains("bag/data/Documents/two.bin"))
    }

    @Test func aCopiedRootIsExportedLikeTheOriginal() async throws {
        let stage = try await stage()
        defer { stage.end() }
        let copied = stage.ground.folder.full("copied")
        _ = try await stage.tool("/bin/cp", ["-r", stage.ground.root.path, copied])
        let written = try await stage.export("bagit", to: "bag", ["--root", copied])
        #expect(written.ending == .exited(0), "\(written)")
        #expect(stage.ground.folder.read("bag/data/Documents/two.bin") == Self.two)
    }

    @Test func editingAnExportLeavesTheTreeAlone() async throws {
        let stage = try await stage()
        defer { stage.end() }
        #expect(try await stage.export("bagit", to: "bag").ending == .exited(0))
        var status = stat()
        stat(stage.ground.folder.full("bag/data/Documents/one.bin"), &status)
        #expect(status.st_nlink == 1)
        try stage.ground.folder.write("bag/data/Documents/one.bin", [1], mode: "r+e")
        #expect(stage.ground.root.read("Documents/one.bin") == Self.one)
    }

    @Test(arguments: ["bag", "bag/", "file", "dangling", "link", "link/"])
    func nothingElseThatIsThereIsReplaced(_ name: String) async throws {
        let stage = try await stage()
        defer { stage.end() }
        let folder = stage.ground.folder
        try folder.write("bag/mine", [1])
        try folder.write("file", [1])
        symlink("nowhere", folder.full("dangling"))
        try folder.write("linked/one.bin", Self.one)
        symlink("linked", folder.full("link"))
        let before = folder.entries().map(\.name)
        let refused = try await stage.export("bagit", to: name)
        #expect(refused.ending == .exited(64))
        #expect(
            refused.errors.contains("it is there already, and an export replaces"), "\(refused)")
        #expect(folder.entries().map(\.name) == before)
    }

    /// The names, the bytes, and whether the folder itself is another one.
    private func look(_ stage: SyncedStage, _ name: String) -> (files: [String], inode: UInt) {
        var status = stat()
        stat(stage.ground.folder.full(name), &status)
        let entries = Folder(stage.ground.folder.full(name)).entries().filter { !$0.isFolder }
        let files = entries.map { entry in
            entry.name + " "
                + Checksum.sha256(stage.ground.folder.read("\(name)/\(entry.name)") ?? [])
        }
        return (files, UInt(status.st_ino))
    }

    @Test(arguments: ["bagit", "bazel-distdir"])
    func theSameExportTwiceIsTheSameFolder(_ format: String) async throws {
        let stage = try await stage()
        defer { stage.end() }
        let first = try await stage.export(format, to: "out")
        #expect(first.ending == .exited(0), "\(first)")
        let before = look(stage, "out")
        #expect(before.files.count >= 2)
        for name in ["out", "out/"] {
            let second = try await stage.export(format, to: name)
            #expect(second.ending == .exited(0), "\(second)")
            let after = look(stage, "out")
            #expect(after.files == before.files)
            #expect(after.inode == before.inode)
        }
        let left = stage.ground.folder.entries().map(\.name).filter { $0.contains(".mirror-") }
        #expect(left == [])
    }

    @Test func aFolderOfTheTreesFilesIsReplaced() async throws {
        let stage = try await stage()
        defer { stage.end() }
        let folder = stage.ground.folder
        try folder.makeFolders(above: "dist/x")
        #expect(try await stage.export("bazel-distdir", to: "dist").ending == .exited(0))
        #expect(look(stage, "dist").files.count == 2)
        // The manifest no longer names two.bin, and the tree still has it.
        try await stage.sync([stage.entry("Documents/one.bin", Self.one, url: "one.bin")])
        let second = try await stage.export("bazel-distdir", to: "dist")
        #expect(second.ending == .exited(0), "\(second)")
        #expect(Folder(folder.full("dist")).entries().map(\.name) == ["one.bin"])
        #expect(!folder.entries().map(\.name).contains { $0.contains(".mirror-") })
    }

    /// The last copy of a file's bytes is not the export's to remove.
    @Test(arguments: [("one.bin", 3000), ("mine.bin", 3000), ("mine", 3)])
    func aFolderWithOtherBytesStays(_ name: String, _ size: Int) async throws {
        let stage = try await stage()
        defer { stage.end() }
        #expect(try await stage.export("bazel-distdir", to: "dist").ending == .exited(0))
        try stage.ground.folder.write("dist/\(name)", TestBytes.make(size, seed: 9))
        let before = look(stage, "dist")
        let refused = try await stage.export("bazel-distdir", to: "dist")
        #expect(refused.ending == .exited(64), "\(refused)")
        #expect(
            refused.errors.contains(
                "an export replaces only files that the tree has: \(name) is none of them."),
            "\(refused)")
        let after = look(stage, "dist")
        #expect(after.files == before.files)
        #expect(after.inode == before.inode)
    }

    /// strace kills the program at the rename that would give the folder its name.
    @Test func aKilledExportLeavesNothingUnderTheName() async throws {
        let stage = try await stage()
        defer { stage.end() }
        let strace = "/usr/bin/strace"
        try #require(BuiltProgram.exists(strace), "no strace: run scripts/setup test")
        let killed = try stage.ground.start(
            ["export", "--as", "bagit", "-o", stage.ground.folder.full("bag")],
            under: [
                strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=syncfs", "-e",
                "inject=syncfs:signal=KILL",
            ])
        let result = try await DetachedThread.run { killed.wait() }
        #expect(result.ending != .exited(0))
        let names = { stage.ground.folder.entries().map(\.name).filter { $0.contains("bag") } }
        #expect(names().allSatisfy { $0.hasPrefix(".bag.mirror-") } && !names().isEmpty)
        #expect(try await stage.export("bagit", to: "bag").ending == .exited(0))
        #expect(names().allSatisfy { $0.hasPrefix("bag") }, "\(names())")
    }

    /// strace stops one export behind its mkdirat(2), when nobody can see that the folder is its own.
    @Test func theSecondExportToANameIsRefused() async throws {
        let stage = try await stage()
        defer { stage.end() }
        let strace = "/usr/bin/strace"
        try #require(BuiltProgram.exists(strace), "no strace: run scripts/setup test")
        // -D: the process that is started is the program's own.
        let stopped = try stage.ground.start(
            ["export", "--as", "bagit", "-o", stage.ground.folder.full("bag")],
            under: [
                strace, "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=mkdirat", "-e",
                "inject=mkdirat:signal=STOP:when=1",
            ])
        let names = { stage.ground.folder.entries().map(\.name).filter { $0.contains("bag") } }
        for _ in 0..<3000 where names().isEmpty { Pause.milliseconds(10) }
        #expect(names().count == 1)
        #expect(try await stage.export("bagit", to: "bag").ending == .exited(0))
        stopped.signal(SIGCONT)
        let result = try await DetachedThread.run { stopped.wait() }
        #expect(result.ending == .exited(64), "\(result)")
        #expect(result.errors.contains("it is there already, and an export replaces nothing."))
        #expect(names().allSatisfy { $0.hasPrefix("bag") }, "\(names())")
    }

    @Test func usageIsRefusedBeforeAnythingIsRead() async throws {
        let stage = try await stage()
        defer { stage.end() }
        let nowhere = try await stage.export("bagit")
        #expect(nowhere.ending == .exited(64))
        #expect(nowhere.errors.contains("bagit is a folder. Say where with -o DIR."))
        let json = try await stage.export("sums", to: nil, ["--json"])
        #expect(json.ending == .exited(64))
        let unknown = try await stage.export("sums", to: nil, ["--only", "nothing"])
        #expect(unknown.ending == .exited(64), "\(unknown)")
    }
}
