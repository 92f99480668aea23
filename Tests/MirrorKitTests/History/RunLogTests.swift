@testable import MirrorKit
import Testing

@Suite struct RunLogTests {
    private let folder: TemporaryFolder
    private let root: RootDirectory

    init() throws {
        folder = try TemporaryFolder()
        root = try RootDirectory(opening: folder.path)
    }

    private func write(_ run: String, _ lines: [String]) {
        var log = RunLog(of: run, in: root)
        for line in lines { log.add(Array("\(line)\n".utf8)) }
        log.close()
    }

    /// The last line that begins like this.
    private func line(_ start: String, of run: String) -> String? {
        var found: String?
        RunLog.forEachLine(of: run, in: root) { line in
            if line.starts(with: start.utf8) { found = String(decoding: line, as: UTF8.self) }
        }
        return found
    }

    @Test func runLogFindsLinesByPrefix() {
        write("R1", [#"{"path":"a","n":1}"#, #"{"path":"ab","n":2}"#, #"{"path":"b","n":3}"#])
        #expect(line(#"{"path":"a","#, of: "R1") == #"{"path":"a","n":1}"#)
        #expect(line(#"{"path":"b","#, of: "R1") == #"{"path":"b","n":3}"#)
        #expect(line(#"{"path":"c","#, of: "R1") == nil)
        #expect(line(#"{"path":"a","#, of: "R2") == nil)
    }

    @Test func linesAcrossChunksAreFound() {
        let filler = String(repeating: "x", count: 1000)
        write("R1", (0..<500).map { "{\"path\":\"\($0)\",\"\(filler)\"}" })
        #expect(line("{\"path\":\"499\",", of: "R1") == "{\"path\":\"499\",\"\(filler)\"}")
        #expect(line("{\"path\":\"65\",", of: "R1") == "{\"path\":\"65\",\"\(filler)\"}")
    }

    @Test func aLineCutByACrashIsIgnored() throws {
        let text = "{\"path\":\"a\",\"n\":1}\n{\"path\":\"b\",\"n"
        try folder.write(text, to: ".mirror/runs/R1.jsonl")
        #expect(line("{\"path\":\"a\",", of: "R1") == "{\"path\":\"a\",\"n\":1}")
        #expect(line("{\"path\":\"b\",", of: "R1") == nil)
    }

    @Test func runWithoutLogLinesMakesNoFile() {
        write("R1", [])
        #expect(folder.names() == [])
    }

    @Test func onlyTheLatestRunsKeepTheirLogs() {
        for number in 0..<(RunLog.mostRuns + 5) { write("R\(100 + number)", ["{}"]) }
        let names = folder.names(in: ".mirror/runs")
        #expect(names.count == RunLog.mostRuns)
        #expect(names.first == "R105.jsonl")
    }
}
