import Glibc
import MirrorTestSupport
import Testing

/// The lines of `mirror status` about files, by the built program.
@Suite(.timeLimit(.minutes(5))) struct StatusListTests {
    @Test func tooManyLinesArePrintedAfterTheTotals() async throws {
        let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        defer { ground.remove() }
        let folders = [String](repeating: String(repeating: "x", count: 250), count: 12)
        let count = 1500
        let resources = (0..<count).map { number in
            #"{"path":"Caches/\#(folders.joined(separator: "/"))/\#(number)","url":"\#(number)"}"#
        }
        let path = try ground.write(
            manifest:
                #"{"name":"m","base":"http://127.0.0.1:9/","resources":[\#(resources.joined(separator: ","))]}"#
        )
        let two = try ground.write(
            manifest: """
                { "name": "n", "resources": [
                  { "path": "Caches/0", "url": "manifest.json", "refresh": "1d" },
                  { "path": "Caches/1", "url": "manifest.json", "refresh": "1d" } ] }
                """, as: "two.json")
        let result = try await DetachedThread.run {
            _ = try ground.sync(two).wait()
            // One file of the same bytes, and one of as many others, both with new inodes.
            let bytes = ground.root.read("Caches/0") ?? []
            for (name, bytes) in [("0", bytes), ("1", bytes.reversed())] {
                try ground.root.write("Caches/new", bytes)
                rename(ground.root.full("Caches/new"), ground.root.full("Caches/\(name)"))
            }
            return try ground.start(["status", path, two, "-v"]).wait()
        }
        #expect(result.ending == .exited(0), "\(result.errors)")
        let lines = result.output.split(separator: "\n")
        #expect(lines[1].hasPrefix("2 files, "))
        #expect(lines[1].contains(": 0 due, 1 edited, \(count) missing."))
        #expect(lines.contains { $0.hasPrefix("intact        Caches/0") })
        #expect(lines.contains { $0.hasPrefix("changed       Caches/1") })
        let files = lines.filter { $0.hasPrefix("missing       Caches/") }
        #expect(files.count == count)
        #expect(Set(files).count == count)
        #expect(files == Array(lines.suffix(count)))
    }
}
