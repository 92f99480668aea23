@testable import MirrorKit
import Testing

@testable import mirror

/// The page: what it says, and that no text of a server or a manifest becomes markup.
@Suite struct ReportPageTests {
    private static let now = Instant(seconds: 1_795_233_360)
    private static let hostile = "<script>alert(1)</script>\"'&\u{202E}"

    private func page(_ report: TreeReport) -> String {
        let clock = LocalClock(now: report.madeAt, offset: LocalOffset { _ in 3600 })
        return String(decoding: ReportPage(report: report, clock: clock).html(), as: UTF8.self)
    }

    /// A report in which everything that others name is hostile.
    static func hostileReport() throws -> TreeReport {
        var report = TreeReport(root: "/srv/" + hostile, madeAt: now)
        var summary = Summary()
        summary.exit = 1
        summary[.failed] = 1
        summary.seconds = 2
        summary.bytesReceived = 5
        summary.error = MirrorError(.deadline, hostile)
        let run = PastRun(id: "R", startedAt: now, endedAt: now, summary: summary)
        report.runs = [run]
        var manifest = RememberedManifest(name: hostile, place: hostile, kind: .url)
        manifest.isThere = false
        report.manifests = [manifest]
        let target = try Target("Caches/" + hostile.replacing("\u{202E}", with: ""))
        for state in StoredFile.State.allCases {
            var file = StoredFile(target: target, state: state)
            file.size = 3
            file.source = "https://h.example\(hostile)"
            file.validator = .weak
            file.verified = .size
            report.add(file)
        }
        report.begin(run)
        for outcome in [Outcome.fetched, .failed] {
            var decision = PastDecision(target: target, step: .fetch, reason: "", because: "")
            decision.outcome = outcome
            decision.source = "https://\(hostile)/"
            decision.bytesReceived = 5
            decision.trace = TransferTrace(began: 1, ended: 1500)
            decision.failures = [
                .init(code: FailureCode(rawValue: hostile), message: hostile, wait: 0)
            ]
            if outcome == .failed {
                decision.error = MirrorError(
                    FailureCode(rawValue: hostile), hostile, remedy: Remedy(.refetch, hostile))
            }
            report.add(decision, of: run)
        }
        return report
    }

    @Test func nothingThatOthersNameBecomesMarkup() throws {
        let page = page(try Self.hostileReport())
        #expect(!page.lowercased().contains("<script"))
        #expect(!page.contains("\u{202E}"))
        #expect(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"))
        // Each place where such a text stands: root, manifest, files, causes, hosts, bars.
        #expect(page.split(separator: "&lt;script&gt;").count > 20)
    }

    @Test func pageLoadsNothingAndForbidsIt() throws {
        let page = page(try Self.hostileReport())
        for word in [
            "src=", "@import", "url(", "<link", "<img", "<iframe", "javascript:", "onload",
        ] {
            #expect(!page.contains(word), "\(word)")
        }
        for part in page.split(separator: "href=\"").dropFirst() { #expect(part.hasPrefix("#")) }
        #expect(
            page.contains(
                "content=\"default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;;"))
    }

    @Test func elementsAreBalanced() throws {
        var open: [Substring] = []
        let page = page(try Self.hostileReport())
        for piece in page.split(separator: "<").dropFirst(1) {
            let name = piece.drop { $0 == "/" }.prefix { $0.isLetter || $0.isNumber }
            if name == "meta" || piece.hasPrefix("!") || page.isEmpty { continue }
            if piece.hasPrefix("/") {
                #expect(open.popLast() == name)
            } else {
                open.append(name)
            }
        }
        #expect(open.isEmpty)
    }

    @Test func everyLinkLeadsToASection() throws {
        let page = page(try Self.hostileReport())
        for part in page.split(separator: "href=\"#").dropFirst() {
            let name = part.prefix { $0 != "\"" }
            #expect(page.contains("<section id=\"\(name)\""), "\(name)")
        }
    }

    @Test func emptyTreeSaysSo() {
        let page = page(TreeReport(root: "/srv/maps", madeAt: Self.now))
        #expect(page.contains("Nothing is here yet: no file, and no run."))
        #expect(page.split(separator: "<section").count == 2)
        #expect(!page.contains("<svg"))
    }

    @Test func runWithoutAnEndIsNoGoodNews() throws {
        var report = TreeReport(root: "/srv/maps", madeAt: Self.now)
        var file = StoredFile(target: try Target("Caches/a"), state: .intact)
        file.size = 1
        report.add(file)
        report.runs = [PastRun(id: "R", startedAt: Self.now)]
        let page = page(report)
        #expect(page.contains("The newest run is under way, or was killed."))
        #expect(page.contains("Its log is not there yet"))
        #expect(!page.contains("class=\"mark good\""))
    }

    @Test func runWithoutTimesSaysThatNoneWereKept() throws {
        var report = TreeReport(root: "/srv/maps", madeAt: Self.now)
        let run = PastRun(id: "R", startedAt: Self.now, endedAt: Self.now, summary: Summary())
        report.runs = [run]
        var decision = PastDecision(
            target: try Target("Caches/a"), step: .fetch, reason: "", because: "")
        decision.bytesReceived = 5
        report.begin(run)
        report.add(decision, of: run)
        let page = page(report)
        #expect(page.contains("No times were kept"))
        #expect(!page.contains("<svg"))
    }

    @Test func aLongListIsCutWithACount() throws {
        var report = TreeReport(root: "/srv/maps", madeAt: Self.now)
        for number in 0..<1204 {
            report.add(StoredFile(target: try Target("Caches/\(number)"), state: .missing))
        }
        let page = page(report)
        #expect(page.contains("The first 1,000 of 1,204; <code>mirror status -v</code> lists all."))
        #expect(page.contains("and 1,104 more: <code>mirror status --json</code>"))
        #expect(page.contains("1,204 files need attention."))
    }

    /// A report of two runs, whose last had a transfer that was tried again.
    private func reportOfARetry(received: Int64, seconds: Double = 4) throws -> TreeReport {
        var report = TreeReport(root: "/srv/maps", madeAt: Self.now)
        let target = try Target("Caches/a")
        var file = StoredFile(target: target, state: .intact)
        (file.size, file.verified, file.freshness) = (10, .digest, .due(.always))
        report.add(file)
        var summary = Summary()
        (summary.exit, summary.seconds, summary.bytesReceived) = (69, seconds, 10)
        let last = PastRun(id: "2", startedAt: Self.now, endedAt: Self.now, summary: summary)
        summary.bytesReceived = received
        report.runs = [
            last, PastRun(id: "1", startedAt: Self.now, endedAt: Self.now, summary: summary),
        ]
        var decision = PastDecision(target: target, step: .fetch, reason: "", because: "")
        decision.outcome = .fetched
        decision.source = "https://h.example/a"
        decision.bytesReceived = 10
        decision.trace = TransferTrace(began: 0, ended: 4000)
        decision.failures = (0..<3).map {
            .init(
                code: .httpStatus, message: "503", wait: 1000, began: Int64($0) * 1200 + 100,
                status: 503)
        }
        report.begin(last)
        report.add(decision, of: last)
        return report
    }

    @Test func exitCodesHaveWordsAndRunsHaveSeconds() throws {
        let page = page(try reportOfARetry(received: 5, seconds: 3725))
        #expect(page.contains("exit 69<small>running again may help</small>"))
        #expect(page.contains("The last run ended with exit 69 (running again may help), 2026-"))
        #expect(page.contains("<div>1 h 2 min 5 s</div>"))
    }

    @Test func retriesOfOneCauseAreOneRow() throws {
        let page = page(try reportOfARetry(received: 5))
        #expect(page.contains("<th scope=\"row\">HTTP 503</th>"))
        #expect(page.split(separator: "HTTP 503").count == 2)
        #expect(page.contains("data-label=\"Requests\" class=\"num\"><div>3</div>"))
    }

    @Test func waitsAreDrawnAsWaiting() throws {
        let page = page(try reportOfARetry(received: 5))
        // Three waits, and one in the legend.
        #expect(page.split(separator: "<rect class=\"wait\"").count == 5)
        #expect(page.split(separator: "<rect class=\"one\"").count == 6)
        #expect(page.contains("thin line: waiting for the next try"))
        #expect(page.contains("3.0 s of it waiting"))
    }

    @Test(arguments: [(5, true), (10, false)] as [(Int64, Bool)])
    func barsOfOneLengthAreLeftOut(received: Int64, hasBars: Bool) throws {
        let page = page(try reportOfARetry(received: received))
        #expect(page.contains("Of the most") == hasBars)
        #expect(page.contains("class=\"track\"") == hasBars)
        #expect(page.contains("Caches: 1 file, 10 B; evicted under a quota, fetched again."))
    }

    @Test(arguments: [
        (0.25, "0.25 s"), (59.5, "59.5 s"), (60, "1 min 0 s"), (3725.4, "1 h 2 min 5 s"),
    ])
    func durationsHaveSeconds(seconds: Double, text: String) {
        #expect(ReportPage.duration(seconds) == text)
    }

    @Test func timesHaveDayAndZone() {
        let page = page(TreeReport(root: "/srv/maps", madeAt: Self.now))
        #expect(
            page.contains("<time datetime=\"2026-11-21T03:56:00.000Z\">2026-11-21 04:56:00</time>"))
        #expect(page.contains("All times are UTC+01:00."))
    }

    @Test(arguments: [
        (0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567"), (-1000, "-1,000"),
    ])
    func numbersAreGrouped(number: Int, text: String) {
        #expect(number.grouped == text)
    }
}
