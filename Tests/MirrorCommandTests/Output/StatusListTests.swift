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
        let none = try ground.write(manifest: #"{"name":"n","resources":[]}"#, as: "none.json")
        let result = try await DetachedThread.run {
            _ = try ground.sync(none).wait()
            return try ground.start(["status", path, "-v"]).wait()
        }
        #expect(result.ending == .exited(0), "\(result.errors)")
        let lines = result.output.split(separator: "\n")
        #expect(lines[1].hasPrefix("0 files, 0 B: 0 due, \(count) missing."))
        let files = lines.filter { $0.hasPrefix("missing       Caches/") }
        #expect(files.count == count)
        #expect(Set(files).count == count)
        #expect(files == Array(lines.suffix(count)))
    }
}
