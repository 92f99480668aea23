import Testing

@testable import MirrorKit
@testable import mirror

/// What a report makes of files and decisions.
@Suite struct TreeReportTests {
    private static let now = Instant(seconds: 1_000_000)

    private func file(
        _ path: String, source: String? = "https://a.example/f",
        _ change: (inout StoredFile) -> Void
    ) throws -> StoredFile {
        var file = StoredFile(target: try Target(path), state: .intact)
        file.size = 10
        file.source = source
        change(&file)
        return file
    }

    private func decision(
        _ path: String, source: String? = "https://a.example/f",
        _ change: (inout PastDecision) -> Void
    ) throws -> PastDecision {
        var decision = PastDecision(
            target: try Target(path), step: .fetch, reason: "", because: "")
        decision.source = source
        decision.outcome = .fetched
        change(&decision)
        return decision
    }

    private func run(_ id: String) -> PastRun { PastRun(id: id, startedAt: Self.now) }

    @Test func filesDivideByAreaFreshnessAndProof() throws {
        var shares = FileShares()
        let until = Self.now.advanced(bySeconds: 60)
        shares.add(
            try file("Documents/a") {
                ($0.freshness, $0.verified) = (.fresh(until: nil), .digest)
                $0.confirmedAt = Instant(seconds: 1)
            })
        shares.add(
            try file("Caches/a") {
                ($0.freshness, $0.verified) = (.fresh(until: until), .size)
                $0.confirmedAt = Instant(seconds: 20)
            })
        shares.add(
            try file("Caches/b") {
                $0.freshness = .due(.always)
                $0.confirmedAt = Instant(seconds: 10)
            })
        shares.add(try file("Caches/c") { _ in })
        shares.add(try file("Caches/d") { $0.size = nil })
        shares.add(try file("Caches/e") { $0.state = .conflict })
        #expect(shares.areas[.caches]?.files == 3)
        #expect(shares.areas[.documents]?.bytes == 10)
        #expect(shares.areas[.tmp] == nil)
        #expect(FileShares.Age.allCases.map { shares.ages[$0]?.files } == [1, 1, 1, 1])
        #expect(shares.proofs[.digest]?.files == 1)
        #expect(shares.nextDue == until)
        // A settled file is not asked about, however old it is.
        #expect(shares.oldestConfirmation == Instant(seconds: 10))
    }

    @Test func hostIsNamedWithoutUserAndPath() {
        for (source, host) in [
            ("https://h.example/a/b", "https://h.example"),
            ("http://user:secret@h.example:81/a", "http://h.example:81"),
            ("http://h.example?x=1", "http://h.example"), ("http://[::1]:8/x", "http://[::1]:8"),
            ("file:///srv/a", "file://"), ("", ""),
        ] {
            #expect(SourceKey.host(of: source) == host)
        }
    }

    @Test(
        arguments: [
            ([.honoured, .offered], .honoured), ([.offered, .refused], .refused),
            ([.offered, .unknown], .offered), ([.unknown], .unknown), ([], .unknown),
            ([.refused, .honoured], .honoured),
        ] as [([RangeSupport], RangeSupport)])
    func aHostsDeedsCountMoreThanClaims(shown: [RangeSupport], verdict: RangeSupport) throws {
        var book = HostBook()
        for ranges in shown {
            book.add(
                try decision("Caches/a") {
                    $0.trace = TransferTrace(began: 0, ended: 1)
                    $0.trace?.version = .http11
                    $0.trace?.ranges = ranges
                })
        }
        #expect((book.hosts.first?.rangeSupport ?? .unknown) == verdict)
        #expect((book.hosts.first?.isDivided ?? false) == (shown == [.refused, .honoured]))
    }

    @Test func hostSumsUpFilesAndTransfers() throws {
        var book = HostBook()
        book.add(try file("Caches/a") { $0.validator = .strong })
        book.add(try file("Caches/b") { $0.validator = .weak })
        book.add(try file("Caches/c", source: nil) { _ in })
        book.add(
            try decision("Caches/a") {
                $0.bytesReceived = 5
                $0.outcome = .resumed
                $0.failures = [.init(code: .httpStatus, message: "503", wait: 1)]
            })
        book.add(
            try decision("Caches/b") {
                $0.outcome = .failed
                $0.error = MirrorError(.httpStatus, "404")
            })
        book.add(try decision("Caches/c", source: nil) { $0.outcome = .copied })
        let host = try #require(book.hosts.first)
        #expect(book.hosts.count == 1)
        #expect(
            [host.files, host.transfers, host.resumed, host.failed, host.retries] == [
                2, 2, 1, 1, 1,
            ])
        #expect(host.validators == [.strong: 1, .weak: 1])
        #expect(host.received == 5)
    }

    @Test func moreHostsThanAreToldApartAreCounted() throws {
        var book = HostBook()
        for number in 0..<(HostBook.mostHosts + 5) {
            book.add(try file("Caches/\(number)", source: "http://h\(number).example/f") { _ in })
        }
        #expect(book.hosts.count == HostBook.mostHosts)
        #expect(book.beyond == 5)
    }

    @Test func filesBeyondTheFirstAreCounted() throws {
        var report = TreeReport(root: "/r", madeAt: Self.now)
        for number in 0..<(TreeReport.mostFiles + 7) {
            report.add(try file("Caches/\(number)") { _ in })
        }
        #expect(report.files.count == TreeReport.mostFiles)
        #expect(report.moreFiles == 7)
        #expect(report.totals.files == TreeReport.mostFiles + 7)
    }

    @Test func onlyTheNewestRunIsToldInDetail() throws {
        var report = TreeReport(root: "/r", madeAt: Self.now)
        report.begin(run("2"))
        report.add(
            try decision("Caches/a") { $0.error = MirrorError(.httpStatus, "404") }, of: run("2"))
        report.begin(run("1"))
        report.add(
            try decision("Caches/b") { $0.error = MirrorError(.httpStatus, "404") }, of: run("1"))
        #expect(report.lastRun?.run.id == "2")
        #expect(report.lastRun?.failures.groups.map(\.count) == [1])
        #expect(report.hosts.hosts.first?.transfers == 2)
    }

    @Test func failedFileIsNotCountedAsMissingToo() throws {
        var report = TreeReport(root: "/r", madeAt: Self.now)
        report.add(
            try file("Caches/a") { ($0.state, $0.size) = (.missing, nil) }, ended: .failed)
        report.add(try file("Caches/b") { ($0.state, $0.size) = (.missing, nil) })
        #expect(report.totals.groups[.failed]?.targets == [try Target("Caches/a")])
        #expect(report.totals.groups[.missing]?.targets == [try Target("Caches/b")])
    }

    @Test func equalCausesAreOneGroup() throws {
        var report = TreeReport(root: "/r", madeAt: Self.now)
        report.begin(run("1"))
        let busy = PastDecision.PassingFailure(
            code: .httpStatus, message: "busy", wait: 1, status: 503)
        for name in ["Caches/a", "Caches/b"] {
            report.add(
                try decision(name) { $0.failures = [busy, busy, busy] }, of: run("1"))
        }
        let group = try #require(report.lastRun?.passing.groups.first)
        #expect(report.lastRun?.passing.groups.count == 1)
        #expect(group.count == 6)
        #expect(group.files == 2)
        #expect(group.targets.map(\.path) == ["Caches/a", "Caches/b"])
        #expect(group.more == 0)
    }

    @Test func triesBeforeAFailureAreNotOvercome() throws {
        var report = TreeReport(root: "/r", madeAt: Self.now)
        report.begin(run("1"))
        let busy = PastDecision.PassingFailure(
            code: .httpStatus, message: "busy", wait: 1, status: 503)
        report.add(try decision("Caches/a") { $0.failures = [busy] }, of: run("1"))
        report.add(
            try decision("Caches/b") {
                $0.failures = [busy]
                $0.error = MirrorError(.httpStatus, "gone")
            }, of: run("1"))
        let passing = try #require(report.lastRun?.passing.groups)
        #expect(passing.map(\.targets) == [[try Target("Caches/a")]])
        #expect(passing.first?.cause.status == 503)
        #expect(passing.first?.cause.host == "a.example")
    }

    @Test func validatorsAreStrongWeakOrNone() {
        let date = HTTPDate(seconds: 5)
        #expect(Validators().strength == .none)
        #expect(Validators(lastModified: date).strength == .weak)
        #expect(Validators(lastModified: date, strong: .lastModified(date)).strength == .strong)
    }
}
