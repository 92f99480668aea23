import MirrorKit
import MirrorModel
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

/// Chromium without a window, which measures a page in frames of several widths.
enum HeadlessBrowser {
    private static let program = "/usr/bin/chromium"
    private static let widths = [320, 390, 768, 1440]

    static var isThere: Bool { BuiltProgram.exists(program) }

    /// What the browser says of a page without a fault: the scheme at each width.
    static func nothingFound(isDark: Bool) -> [String] {
        widths.map { "\($0): \(isDark ? "dark" : "light")" }
    }

    /// Lines about a page: the scheme at each width, whatever ends beyond it, and pale texts.
    static func look(at page: String, isDark: Bool) async throws -> [String] {
        let folder = try Folder.temporary()
        defer { folder.remove() }
        try folder.write("look.html", Array(harness(for: page).utf8))
        let command = try Command(
            program,
            [
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--no-first-run", "--disable-extensions", "--disable-background-networking",
                "--user-data-dir=\(folder.full("profile"))",
                "--blink-settings=preferredColorScheme=\(isDark ? 0 : 1)", "--dump-dom",
                "file://\(folder.full("look.html"))",
            ],
            environment: ["PATH": "/usr/bin:/bin", "HOME": folder.path, "LANG": "C.UTF-8"],
            folder: folder.path)
        let result = try await DetachedThread.run { command.wait(seconds: 300) }
        guard result.ending == .exited(0),
            let start = result.output.firstRange(of: "<pre>"),
            let end = result.output.firstRange(of: "</pre>")
        else { throw StoryFailure("chromium: \(result.ending) \(result.output) \(result.errors)") }
        return result.output[start.upperBound..<end.lowerBound].split(separator: "\n")
            .map(String.init)
    }

    /// A document with the page in a frame of each width, and a script that replaces them by what it
    /// found. The page itself runs nothing.
    private static func harness(for page: String) -> String {
        let inner = HTMLWriter.escaped(page.replacing("\n", with: " "))
        let frames = widths.map {
            "<iframe width=\"\($0)\" height=\"900\" style=\"border:0\" srcdoc=\"\(inner)\"></iframe>"
        }
        return "<!DOCTYPE html><meta name=color-scheme content=\"light dark\">"
            + frames.joined() + "<script>\(script)</script>"
    }

    private static let script = """
        onload = () => {
          const said = [];
          const light = c => {
            const [r, g, b] = c.match(/[0-9.]+/g).map(v => { v /= 255;
              return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4 });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b };
          for (const frame of document.querySelectorAll('iframe')) {
            const page = frame.contentDocument, view = frame.contentWindow, width = frame.width;
            for (const d of page.querySelectorAll('details')) d.open = true;
            const dark = view.matchMedia('(prefers-color-scheme: dark)').matches;
            said.push(`${width}: ${dark ? 'dark' : 'light'}`);
            const found = new Set();
            if (page.documentElement.scrollWidth > width) found.add('the page is wider');
            for (const e of page.body.querySelectorAll('*')) {
              const box = e.getBoundingClientRect();
              const name = e.tagName.toLowerCase() + (e.className.baseVal ?? e.className);
              if (e.closest('svg') && e.tagName != 'svg') continue;
              if (box.right > +width + 0.5 || box.left < -0.5) found.add(`${name} ends at ${box.right}`);
              const wide = e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 1;
              if (wide && view.getComputedStyle(e).display != 'inline' && e.tagName != 'svg')
                found.add(`${name} holds ${e.scrollWidth} in ${e.clientWidth}`);
              const hasText = [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim());
              if (!hasText || !box.width) continue;
              let under = e, back = 'rgba(0, 0, 0, 0)';
              while (under && back == 'rgba(0, 0, 0, 0)') {
                back = view.getComputedStyle(under).backgroundColor; under = under.parentElement }
              const [a, b] = [light(view.getComputedStyle(e).color), light(back)];
              const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
              if (ratio < 4.5) found.add(`pale ${name}: ${ratio.toFixed(2)}`);
            }
            for (const f of found) said.push(`${width}: ${f}`);
          }
          const list = document.createElement('pre');
          list.textContent = said.join('\\n') + '\\n';
          document.body.replaceChildren(list);
        };
        """
}
