import Glibc
import MirrorTestSupport
import Testing

/// What people save while a command is at work: the built program, stopped in front of a system call.
@Suite(
    .timeLimit(.minutes(10)),
    .enabled(if: DurabilityWatch.reasonNotPossible == nil, "tracing is not permitted here"))
struct EditsAmidCommandsTests {
    /// A set with a folder of its own, which is exchanged, and one that is renamed file by file.
    private static let exchanged = (folder: "Documents/set", files: ["a", "b"])
    private static let renamed = (folder: "Documents", files: ["x/a", "y/b"])

    /// How somebody saves a file.
    enum Save: CaseIterable { case inPlace, byRename }

    @Test(arguments: ["Documents/set", "Caches/set"], Save.allCases)
    func aSetKeepsAnEditBeforeTheExchange(
        folder: String, save: Save
    ) async throws {
        let end = try await Stage.run(folder) { stage in
            try stage.sync(["a": "old a", "b": "old b"])
            return try stage.trace(try stage.syncing(["a": "new a", "b": "new b"])) {
                try stage.save("a", "mine", save)
                $0.pass($1)
            }
        }
        #expect(end.result.ending == .exited(0), "\(end)")
        #expect(end.files == ["a": "new a", "b": "new b"])
        #expect(end.copies == ["mine"])
    }

    @Test(arguments: [exchanged, renamed])
    func anOrphanEditedAfterAKillIsKept(folder: String, files: [String]) async throws {
        let (stays, goes) = (files[0], files[1])
        let end = try await Stage.run(folder) { stage in
            try stage.sync([stays: "old", goes: "gone"])
            let prune = try stage.syncing([stays: "new"]) + ["--prune", "--max-delete", "1"]
            try stage.trace(prune) { command, _ in command.kill() }
            try stage.save(goes, "edited", .inPlace)
            return try stage.sync([stays: "new"])
        }
        #expect(end.files == [stays: "new", goes: "edited"], "\(end)")
        #expect(end.copies == [])
    }

    @Test(arguments: [exchanged, renamed], Save.allCases)
    func aDocumentEditedAfterAKillIsKept(
        set: (folder: String, files: [String]), save: Save
    ) async throws {
        let (first, second) = (set.files[0], set.files[1])
        let new = [first: "new a", second: "new b"]
        let end = try await Stage.run(set.folder) { stage in
            try stage.sync([first: "old a", second: "old b"])
            try stage.trace(try stage.syncing(new)) { command, _ in command.kill() }
            try stage.save(first, "mine", save)
            return try stage.sync(new)
        }
        #expect(end.files == new)
        #expect(end.copies == ["mine"])
        #expect(end.result.errors.contains("; it is kept as Documents/"), "\(end)")
    }

    @Test(arguments: [("Caches/set", ["a", "b"]), ("Caches", ["x/a", "y/b"]), exchanged, renamed])
    func aFileNewAfterAKillIsKept(folder: String, files: [String]) async throws {
        let new = [files[0]: "new a", files[1]: "new b"]
        let end = try await Stage.run(folder) { stage in
            try stage.sync([files[0]: "old a"])
            try stage.trace(try stage.syncing(new)) { command, _ in command.kill() }
            try stage.save(files[1], "mine", .inPlace)
            return try stage.sync(new)
        }
        #expect(end.files == new)
        #expect(end.copies == ["mine"])
        #expect(end.result.errors.contains("; it is kept as \(folder)/"), "\(end)")
    }

    @Test(arguments: Save.allCases)
    func anEditBeforeTheExchangeOutlivesAKill(save: Save) async throws {
        let new = ["a": "new a", "b": "new b"]
        let end = try await Stage.run("Documents/set") { stage in
            try stage.sync(["a": "old a", "b": "old b"])
            try stage.trace(try stage.syncing(new)) {
                try stage.save("a", "mine", save)
                $0.kill(after: $1)
            }
            return try stage.sync(new)
        }
        #expect(end.files == new)
        #expect(end.copies == ["mine"])
        #expect(end.result.errors.contains("; it is kept as Documents/"), "\(end)")
    }

    @Test(arguments: Save.allCases)
    func anEditWhileItsCopyReturnsIsKept(save: Save) async throws {
        let end = try await Stage.run("Documents/set", isSet: false) { stage in
            try stage.sync(["a": "old"])
            try stage.save("a", "mine", .inPlace)
            try stage.sync(["a": "new"])
            return try stage.trace(["resolve", "Documents/set/a", "--keep", "mine"]) {
                try stage.save("a", "saved just now", save)
                $0.pass($1)
            }
        }
        #expect(end.result.ending == .exited(1), "\(end)")
        #expect(end.result.errors.contains("was changed too, so both are kept"), "\(end)")
        #expect((end.files.values + end.copies).sorted() == ["mine", "saved just now"])
    }
}

/// A root with one folder that a manifest fills.
private struct Stage {
    private let ground: Playground
    private let folder: String
    private let isSet: Bool

    /// What is there after a story, and how its last command ended.
    struct End: Sendable {
        let result: Command.Result
        /// The texts of the files by their names in the folder, without those under conflict names.
        var files: [String: String] = [:]
        /// The texts under conflict names.
        var copies: [String] = []
    }

    /// Tells a story on a thread of its own, which a traced program belongs to.
    static func run(
        _ folder: String, isSet: Bool = true,
        _ story: @escaping @Sendable (Stage) throws -> Command.Result
    ) async throws -> End {
        try await DetachedThread.run {
            let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
            defer { ground.remove() }
            var end = End(result: try story(Stage(ground: ground, folder: folder, isSet: isSet)))
            for (path, bytes) in ground.tree() {
                let text = String(decoding: bytes, as: UTF8.self)
                if path.contains(".mirror-conflict-") {
                    end.copies.append(text)
                } else {
                    end.files[String(path.dropFirst(folder.utf8.count + 1))] = text
                }
            }
            return end
        }
    }

    /// The words that sync files with these texts.
    func syncing(_ files: [String: String]) throws -> [String] {
        let resources = try files.sorted { $0.key < $1.key }.map { name, text in
            let bytes = Array(text.utf8)
            let sum = Checksum.sha256(bytes)
            try ground.folder.write(sum, bytes)
            return #"{"path":"\#(folder)/\#(name)","sha256":"\#(sum)","#
                + #""url":"file://\#(ground.folder.full(sum))"}"#
        }
        let manifest = try ground.write(
            manifest: #"{"name":"m","atomic":\#(isSet),"resources":["#
                + resources.joined(separator: ",") + "]}")
        return ["sync", manifest, "--min-free", "0"]
    }

    @discardableResult
    func sync(_ files: [String: String]) throws -> Command.Result {
        let result = try ground.start(try syncing(files)).wait()
        if result.ending != .exited(0) { throw StoryFailure("\(result)") }
        return result
    }

    /// Runs a command; the body gets the first call that gives the folder, or a file of it, its name.
    @discardableResult
    func trace(
        _ words: [String], _ body: (TracedCommand, TracedCommand.Call) throws -> Void
    ) throws -> Command.Result {
        let command = try TracedCommand(
            BuiltProgram.path(of: "mirror"), words,
            environment: [
                "MIRROR_ROOT": ground.root.path, "HOME": ground.folder.path, "LANG": "C.UTF-8",
            ])
        var isReached = false
        while let call = command.next() {
            if !isReached, isPlacing(call, of: command) {
                isReached = true
                try body(command, call)
            } else {
                command.pass(call)
            }
        }
        let result = command.end()
        if !isReached { throw StoryFailure("nothing got its name: \(result)") }
        return result
    }

    private func isPlacing(_ call: TracedCommand.Call, of command: TracedCommand) -> Bool {
        guard ["renameat", "renameat2", "linkat"].contains(call.name),
            let name = command.names(of: call).last
        else { return false }
        let place = ground.root.full(folder)
        // The names of folders end in a slash there.
        return name == place + "/"
            || name.hasPrefix(place + "/") && ["a", "b"].contains(name.split(separator: "/").last)
    }

    /// Saves a file as an editor does.
    func save(_ name: String, _ text: String, _ way: EditsAmidCommandsTests.Save) throws {
        let path = folder + "/" + name
        switch way {
        case .inPlace: try ground.root.write(path, Array(text.utf8))
        case .byRename:
            try ground.folder.write("saved", Array(text.utf8))
            if rename(ground.folder.full("saved"), ground.root.full(path)) != 0 {
                throw StoryFailure("rename(2) failed: \(errno)")
            }
        }
    }
}
