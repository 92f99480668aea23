@testable import MirrorKit
import MirrorTestSupport
import Testing

@testable import mirror

/// The page in a real browser: at every width and in both schemes, nothing overflows and every text
/// stands out from what is behind it.
@Suite(.timeLimit(.minutes(10)), .enabled(if: HeadlessBrowser.isThere, "chromium is not installed"))
struct ReportLayoutTests {
    private static let now = Instant(seconds: 1_795_233_360)

    /// A report with much of everything, and names that no line can hold.
    private static func fullReport() throws -> TreeReport {
        var report = try ReportPageTests.hostileReport()
        let long = String(repeating: "a-name-without-an-end", count: 11)
        for number in 0..<300 {
            let target = try Target("Documents/\(number % 3 == 0 ? long : "b")/\(number).bin")
            var file = StoredFile(
                target: target, state: StoredFile.State.allCases[number % 7])
            file.size = Int64(number) << 33
            file.source = "https://\(number % 40).\(String(long.prefix(180))).example:8443/f"
            file.validator = ValidatorStrength.allCases[number % 3]
            file.verified = [.digest, .size, Verification.none][number % 3]
            file.freshness =
                number % 2 == 0 ? .due(.always) : .fresh(until: now.advanced(bySeconds: 99))
            file.partBytes = Int64(number % 5) << 30
            report.add(file)
            var decision = PastDecision(target: target, step: .fetch, reason: "", because: "")
            decision.outcome = number % 9 == 0 ? .failed : .fetched
            decision.source = file.source
            decision.bytesReceived = Int64(number) << 20
            let began = Int64(number * 37 % 2000)
            decision.trace = TransferTrace(began: began, ended: began + Int64(number * 13 % 900))
            decision.trace?.version = .http2
            decision.trace?.ranges = RangeSupport.allCases[number % 4]
            if decision.outcome == .failed {
                decision.error = MirrorError(.digestMismatch, "\(target): \(long) is not \(long)")
                decision.error?.source = file.source
            }
            report.add(decision, of: report.runs[0])
        }
        var summary = Summary()
        for outcome in Outcome.allCases { summary[outcome] = 1_000_000 }
        summary.seconds = 100_000
        summary.bytesReceived = .max
        for number in 0..<40 {
            report.runs.append(
                PastRun(
                    id: "\(number)", startedAt: now,
                    endedAt: now, summary: number % 4 == 0 ? nil : summary))
        }
        return report
    }

    private func page(_ report: TreeReport) -> String {
        let clock = LocalClock(now: Self.now, offset: .utc)
        return String(decoding: ReportPage(report: report, clock: clock).html(), as: UTF8.self)
    }

    @Test(arguments: [true, false])
    func fullPageFitsEveryWidthAndIsReadable(isDark: Bool) async throws {
        let findings = try await HeadlessBrowser.look(
            at: page(try Self.fullReport()), isDark: isDark)
        #expect(findings == HeadlessBrowser.nothingFound(isDark: isDark))
    }

    @Test(arguments: [true, false])
    func emptyPageFitsEveryWidthAndIsReadable(isDark: Bool) async throws {
        let findings = try await HeadlessBrowser.look(
            at: page(TreeReport(root: "/srv/maps", madeAt: Self.now)), isDark: isDark)
        #expect(findings == HeadlessBrowser.nothingFound(isDark: isDark))
    }

    @Test func browserFindsWhatOverflowsAndWhatIsPale() async throws {
        let flaws = """
            <!DOCTYPE html><html><head></head><body style="background:#fff">
            <p style="width:900px;white-space:nowrap">wide</p><p style="color:#aaa">pale</p></body></html>
            """
        let findings = try await HeadlessBrowser.look(at: flaws, isDark: false)
        #expect(findings.contains { $0.hasPrefix("320: p") })
        #expect(findings.contains { $0.hasPrefix("768: p") })
        #expect(!findings.contains { $0.hasPrefix("1440: p ends") })
        #expect(findings.contains { $0.hasPrefix("1440: pale p") })
    }
}
