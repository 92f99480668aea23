@testable import MirrorKit
import MirrorTestSupport

@testable import mirror

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
        let output = try await document(
            at: "file://\(folder.full("look.html"))",
            "--blink-settings=preferredColorScheme=\(isDark ? 0 : 1)")
        guard let start = output.firstRange(of: "<pre>"),
            let end = output.firstRange(of: "</pre>")
        else { throw StoryFailure("chromium: \(output)") }
        return output[start.upperBound..<end.lowerBound].split(separator: "\n").map(String.init)
    }

    /// The document at a URL as the browser has it once it is loaded.
    static func document(at url: String, _ options: String...) async throws -> String {
        let folder = try Folder.temporary()
        defer { folder.remove() }
        let command = try Command(
            program,
            [
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--no-first-run", "--disable-extensions", "--disable-background-networking",
                "--user-data-dir=\(folder.full("profile"))",
            ] + options + ["--dump-dom", url],
            environment: ["PATH": "/usr/bin:/bin", "HOME": folder.path, "LANG": "C.UTF-8"],
            folder: folder.path)
        let result = try await DetachedThread.run { command.wait(seconds: 300) }
        guard result.ending == .exited(0) else { throw StoryFailure("chromium: \(result)") }
        return result.output
    }

    /// A document with the page in a frame of each width, and a script that replaces them by what it
    /// found. The page itself runs nothing.
    private static func harness(for page: String) -> String {
        let inner = page.replacing("\n", with: " ").escapedForHTML
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
