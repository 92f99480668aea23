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
    func aFileOfASetThatIsSavedBeforeTheExchangeIsKept(
        folder: String, save: Save
    ) async throws {
        try await DetachedThread.run {
            let stage = try Stage(folder)
            defer { stage.end() }
            try stage.sync(["a": "old a", "b": "old b"])
            let result = try stage.trace(try stage.syncing(["a": "new a", "b": "new b"])) {
                try stage.save("a", "mine", save)
                $0.pass($1)
            }
            #expect(result.ending == .exited(0), "\(result)")
            stage.expect(["a": "new a", "b": "new b"], besides: ["mine"])
        }
    }

    @Test(arguments: [exchanged, renamed])
    func anOrphanThatIsEditedAfterAKillIsKept(folder: String, files: [String]) async throws {
        try await DetachedThread.run {
            let stage = try Stage(folder)
            defer { stage.end() }
            let (stays, goes) = (files[0], files[1])
            try stage.sync([stays: "old", goes: "gone"])
            let prune = try stage.syncing([stays: "new"]) + ["--prune", "--max-delete", "1"]
            let result = try stage.trace(prune) { command, _ in command.kill() }
            #expect(result.ending == .signalled(SIGKILL), "\(result)")
            try stage.save(goes, "edited", .inPlace)
            try stage.sync([stays: "new"])
            stage.expect([stays: "new", goes: "edited"])
        }
    }

    @Test(arguments: [exchanged, renamed], Save.allCases)
    func aDocumentThatIsEditedAfterAKillIsKept(
        set: (folder: String, files: [String]), save: Save
    ) async throws {
        try await DetachedThread.run {
            let stage = try Stage(set.folder)
            defer { stage.end() }
            let (first, second) = (set.files[0], set.files[1])
            let new = [first: "new a", second: "new b"]
            try stage.sync([first: "old a", second: "old b"])
            let result = try stage.trace(try stage.syncing(new)) { command, _ in command.kill() }
            #expect(result.ending == .signalled(SIGKILL), "\(result)")
            try stage.save(first, "mine", save)
            let next = try stage.sync(new)
            stage.expect(new, besides: ["mine"])
            #expect(next.errors.contains("; it is kept as Documents/"), "\(next)")
        }
    }

    @Test(arguments: Save.allCases)
    func aDocumentThatIsSavedBeforeTheExchangeOutlivesAKillAfterIt(save: Save) async throws {
        try await DetachedThread.run {
            let stage = try Stage("Documents/set")
            defer { stage.end() }
            let new = ["a": "new a", "b": "new b"]
            try stage.sync(["a": "old a", "b": "old b"])
            let result = try stage.trace(try stage.syncing(new)) {
                try stage.save("a", "mine", save)
                $0.kill(after: $1)
            }
            #expect(result.ending == .signalled(SIGKILL), "\(result)")
            let next = try stage.sync(new)
            stage.expect(new, besides: ["mine"])
            #expect(next.errors.contains("; it is kept as Documents/"), "\(next)")
        }
    }

    @Test(arguments: Save.allCases)
    func aDocumentThatIsSavedWhileItsCopyComesBackIsKept(save: Save) async throws {
        try await DetachedThread.run {
            let stage = try Stage("Documents/set", isSet: false)
            defer { stage.end() }
            try stage.sync(["a": "old"])
            try stage.save("a", "mine", .inPlace)
            try stage.sync(["a": "new"])
            stage.expect(["a": "new"], besides: ["mine"])
            let resolve = ["resolve", "Documents/set/a", "--keep", "mine"]
            let result = try stage.trace(resolve) {
                try stage.save("a", "saved just now", save)
                $0.pass($1)
            }
            #expect(result.ending == .exited(1), "\(result)")
            #expect(result.errors.contains("was changed too, so both are kept"), "\(result)")
            #expect(Set(stage.texts.values) == ["mine", "saved just now"])
        }
    }
}

/// A root with one folder that a manifest fills.
private struct Stage {
    private let ground: Playground
    private let folder: String
    private let isSet: Bool

    init(_ folder: String, isSet: Bool = true) throws {
        ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        (self.folder, self.isSet) = (folder, isSet)
    }

    func end() { ground.remove() }

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
        #expect(result.ending == .exited(0), "\(result)")
        return result
    }

    /// Runs a command; the body gets the first call that gives the folder, or a file of it, its name.
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
        #expect(isReached)
        return command.end()
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
            #expect(rename(ground.folder.full("saved"), ground.root.full(path)) == 0)
        }
    }

    /// The texts of the tree's files by their names in the folder.
    var texts: [String: String] {
        ground.tree().reduce(into: [:]) { texts, file in
            let name = file.key.dropFirst(folder.utf8.count + 1)
            texts[String(name)] = String(decoding: file.value, as: UTF8.self)
        }
    }

    /// Compares the tree with files by their names, and with texts under conflict names.
    func expect(_ files: [String: String], besides copies: [String] = []) {
        let (texts, isCopy) = (texts, { (name: String) in name.contains(".mirror-conflict-") })
        #expect(texts.filter { !isCopy($0.key) } == files)
        #expect(texts.filter { isCopy($0.key) }.values.sorted() == copies)
    }
}
