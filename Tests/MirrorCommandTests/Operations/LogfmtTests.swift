@testable import MirrorKit
import Testing

@testable import mirror

@Suite struct LogfmtTests {
    @Test(arguments: [
        (#"{"a":1,"b":"x","c":true,"d":null}"#, "a=1 b=x c=true"),
        (#"{"a":"","b":"x y","c":"k=v","d":"q\"q"}"#, #"a="" b="x y" c="k=v" d="q\"q""#),
        (#"{"a":{"b":{"c":1}},"d":["x","y z"],"e":[]}"#, #"a.b.c=1 d="x,y z""#),
        (#"{"a":"line\nbreak","b":"ü","c":"\u001b[0m"}"#, #"a="line\nbreak" b=ü c="\u001b[0m""#),
    ])
    func anObjectIsOneLineOfPairs(json: String, line: String) throws {
        #expect(try JSONTree(Array(json.utf8), file: "").logfmt == line)
    }

    @Test(arguments: [
        ("mirror: error: a\nb", "<3>mirror: error: a\n<3>b"),
        ("failed        Caches/a", "<3>failed        Caches/a"),
        ("mirror: note: a", "<4>mirror: note: a"), ("root /r", "<6>root /r"),
    ])
    func eachLineForTheJournalHasAPriority(text: String, prefixed: String) {
        #expect(Console.prioritized(text) == prefixed)
    }

    @Test func onlyTheNamedDescriptorIsTheJournal() {
        #expect(!Console.isJournal(0, stream: nil))
        #expect(!Console.isJournal(0, stream: "1:2"))
        #expect(!Console.isJournal(0, stream: "x"))
    }

    @Test func metricsAreInTheTextFormat() {
        var metrics = Metrics()
        metrics.endedAt = Instant(seconds: 100)
        metrics.lastSuccess = 50
        metrics.summary.seconds = 1.25
        metrics.failures = [.stalled: 2, .httpStatus: 1]
        let text = metrics.text
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            #expect(line.hasPrefix("mirror_"))
            #expect(line.split(separator: " ").count == 2, "\(line)")
        }
        #expect(text.contains("mirror_last_run_duration_seconds 1.250\n"))
        #expect(text.contains("mirror_failures{code=\"http-status\"} 1\n"))
        #expect(!text.contains("mirror_due_files"))
        #expect(Metrics.lastSuccess(in: text) == 50)
        #expect(Metrics.lastSuccess(in: "") == nil)
    }
}
