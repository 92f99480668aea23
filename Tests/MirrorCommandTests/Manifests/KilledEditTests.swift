import Glibc
import MirrorTestSupport
import Testing

/// SIGKILL while a verb writes into a manifest: the file is the old text or the new one.
@Suite(.timeLimit(.minutes(15)))
struct KilledEditTests {
    @Test(arguments: ["add", "remove", "settings"])
    func aKilledEditLeavesOneOfTwoTexts(verb: String) async throws {
        try await DetachedThread.run {
            let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
            defer { ground.remove() }
            let edit = try Edit(verb, ground)
            let took = try edit.whole()
            #expect(edit.text != edit.old)
            let new = edit.text
            var kills = 0
            for round in 0..<25 {
                try edit.restore()
                let run = try ground.start(edit.arguments)
                // Up to the time that a whole run took, in steps.
                usleep(UInt32(took * Double(round) / 25 * 1_000_000))
                run.signal(SIGKILL)
                if run.wait().ending == .signalled(SIGKILL) { kills += 1 }
                let isWhole = edit.text == edit.old || edit.text == new
                #expect(isWhole, "\(verb), round \(round): \(edit.text?.count ?? -1) bytes")
            }
            #expect(kills > 0)
        }
    }
}

/// A verb, and the file that it changes.
private struct Edit {
    let ground: Playground
    let arguments: [String]
    let name: String
    let old: [UInt8]

    init(_ verb: String, _ ground: Playground) throws {
        self.ground = ground
        let entries = (0..<1_000).map {
            "    { \"path\": \"Caches/\($0)\", \"url\": \"https://h.example/\($0)\" }"
        }
        let text =
            "{ \"name\": \"m\",\n  \"resources\": [\n" + entries.joined(separator: ",\n") + "\n] }"
        let path = try ground.write(manifest: text)
        switch verb {
        case "add": arguments = ["add", path, "https://h.example/one-more"]
        case "remove": arguments = ["remove", path, "Caches/500"]
        default: arguments = ["settings", "set", "retries", "3"]
        }
        let isOfManifest = verb != "settings"
        name = isOfManifest ? "manifest.json" : "root/.mirror/settings.json"
        old = Array((isOfManifest ? text : "{\n  \"jobs\": 2\n}\n").utf8)
        try restore()
    }

    var text: [UInt8]? { ground.folder.read(name) }

    func restore() throws {
        try ground.folder.makeFolders(above: name)
        try ground.folder.write(name, old)
    }

    /// Runs to the end; returns the seconds that it took.
    func whole() throws -> Double {
        let clock = ContinuousClock()
        let start = clock.now
        let result = try ground.start(arguments).wait()
        #expect(result.ending == .exited(0), "\(result)")
        let took = start.duration(to: clock.now).components
        return Double(took.seconds) + Double(took.attoseconds) / 1e18
    }
}
