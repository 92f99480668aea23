@testable import MirrorKit
import Testing

@testable import mirror

/// The metrics are what Prometheus's text format allows, judged line by line.
@Suite struct MetricsTests {
    private var full: Metrics {
        var metrics = Metrics()
        metrics.endedAt = Instant(milliseconds: 1_795_510_889_123)
        metrics.lastSuccess = 1_795_510_000
        metrics.summary.seconds = 4.05
        metrics.failures = [.httpStatus: 2, FailureCode(rawValue: "of-a-newer-mirror"): 1]
        metrics.due = 3
        metrics.freeBytes = .max
        return metrics
    }

    @Test func everyLineIsACommentOrASample() throws {
        for metrics in [full, Metrics()] {
            let text = metrics.text
            #expect(text.last == "\n")
            var helped: Set<Substring> = []
            var typed: Set<Substring> = []
            var seen: Set<Substring> = []
            for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
                let words = line.split(separator: " ", maxSplits: 3)
                if line.hasPrefix("# HELP ") {
                    #expect(words.count == 4 && helped.insert(words[2]).inserted, "\(line)")
                } else if line.hasPrefix("# TYPE ") {
                    #expect(words.count == 4 && words[3] == "gauge", "\(line)")
                    #expect(helped.contains(words[2]) && typed.insert(words[2]).inserted)
                } else {
                    let sample = try #require(line.wholeMatch(of: Self.sample), "\(line)")
                    #expect(typed.contains(sample.name), "\(line)")
                    #expect(Double(sample.value) != nil, "\(line)")
                    #expect(seen.insert(sample.name + sample.labels).inserted, "twice: \(line)")
                }
            }
            #expect(helped == typed)
            #expect(typed.allSatisfy { $0.hasPrefix("mirror_") })
        }
    }

    private static var sample:
        Regex<(Substring, name: Substring, labels: Substring, Substring?, value: Substring)>
    {
        /(?<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?<labels>(\{[a-z_]+="[^"\\\n]*"\})?) (?<value>[-+0-9.e]+)/
    }

    @Test func failuresAreCountedByCode() {
        #expect(full.text.contains("\nmirror_failures{code=\"http-status\"} 2\n"))
        #expect(full.text.contains("\nmirror_last_run_duration_seconds 4.050\n"))
        #expect(Metrics.lastSuccess(in: full.text) == 1_795_510_000)
    }

    /// An alert on the age of the last success fires for a device that never had one.
    @Test func neverSucceededMeansLongAgo() {
        #expect(Metrics().text.contains("\nmirror_last_success_timestamp_seconds 0\n"))
        #expect(Metrics.lastSuccess(in: "") == nil)
    }
}
