import Glibc
import MirrorTestSupport
import Testing

/// SIGKILL while a manifest is forgotten with its files: what is left is whole, and the next try
/// does the rest.
@Suite(.timeLimit(.minutes(10)))
struct KilledForgetTests {
    private static let names = (0..<60).map { "Caches/\($0)" }
    private static let shared = "Documents/shared"

    @Test func aKilledForgetLeavesWholeFiles() async throws {
        try await DetachedThread.run {
            let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
            defer { ground.remove() }
            let (one, two) = try Self.manifests(ground)
            func sync() throws {
                let result = try ground.start(["sync", one, two]).wait()
                #expect(result.ending == .exited(0), "\(result)")
            }
            let forget = ["forget", "one", "--delete", "--quiet"]
            try sync()
            let clock = ContinuousClock()
            let start = clock.now
            #expect(try ground.start(forget).wait().ending == .exited(0))
            let took = start.duration(to: clock.now) / .milliseconds(1)
            var kills = 0
            for round in 0..<10 {
                try sync()
                let run = try ground.start(forget)
                usleep(UInt32(took * 1000 * Double(round) / 10))
                run.signal(SIGKILL)
                if run.wait().ending == .signalled(SIGKILL) { kills += 1 }
                let flaws = Self.flaws(ground)
                #expect(flaws.isEmpty, "round \(round): \(flaws)")
                let again = try ground.start(forget).wait()
                // The name is not known any more where the killed try was through with it.
                #expect([.exited(0), .exited(64)].contains(again.ending), "\(again)")
                #expect(Set(ground.tree().keys) == [Self.shared], "round \(round): \(again)")
                let verify = try ground.start(["verify"]).wait()
                #expect(verify.ending == .exited(0), "round \(round): \(verify)")
            }
            #expect(kills > 0)
        }
    }

    /// Two manifests that pin one file to the same bytes.
    private static func manifests(_ ground: Playground) throws -> (String, String) {
        try ground.folder.write("shared", Array(shared.utf8))
        let sum = try Command.run("/usr/bin/sha256sum", [ground.folder.full("shared")]).output
        let common =
            #"{"path":"\#(shared)","url":"file://\#(ground.folder.full("shared"))","sha256":"\#(sum.prefix(64))"}"#
        var entries: [String] = []
        for name in names {
            try ground.folder.makeFolders(above: name)
            try ground.folder.write(name, Array(name.utf8))
            entries.append(#"{"path":"\#(name)","url":"file://\#(ground.folder.full(name))"}"#)
        }
        let all = (entries + [common]).joined(separator: ",")
        return (
            try ground.write(manifest: #"{"name":"one","resources":[\#(all)]}"#),
            try ground.write(manifest: #"{"name":"two","resources":[\#(common)]}"#, as: "two.json")
        )
    }

    /// Every file that does not hold its own name, and the shared one where it is gone.
    private static func flaws(_ ground: Playground) -> [String] {
        let tree = ground.tree()
        return tree.filter { $0.value != Array($0.key.utf8) }.map { "\($0.key) is not whole" }
            + (tree[shared] == nil ? ["\(shared) is gone"] : [])
    }
}
