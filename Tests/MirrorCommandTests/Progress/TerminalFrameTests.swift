@testable import MirrorKit
import MirrorTestSupport
import Testing

@testable import mirror

/// Lines that are rewritten in place, as a terminal shows them.
@Suite struct TerminalFrameTests {
    private var terminal = TerminalModel(columns: 20, rows: 12, width: DisplayWidth.of)
    private var frame = TerminalFrame()

    private mutating func draw(_ lines: [String], above: [String] = []) {
        // The terminal's driver puts a carriage return before a line feed (termios(3), ONLCR).
        let text = frame.draw(lines, above: above, columns: terminal.columns)
        terminal.write(
            text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n"))
    }

    @Test mutating func newLinesReplaceTheOldOnes() {
        draw(["one", "two", "total"])
        draw(["three", "total"])
        #expect(terminal.screen == ["three", "total"])
        #expect(terminal.cursorRow == 0)
        draw(["a", "b", "c", "total"])
        #expect(terminal.screen == ["a", "b", "c", "total"])
    }

    @Test mutating func reportGoesAboveAndStays() {
        draw(["total 1"])
        draw(["total 2"], above: ["fetched a", "fetched b"])
        draw(["x", "total 3"], above: [String(repeating: "n", count: 20)])
        draw(["total 4"], above: [String(repeating: "m", count: 33)])
        #expect(
            terminal.history == [
                "fetched a", "fetched b", String(repeating: "n", count: 20),
                String(repeating: "m", count: 20), String(repeating: "m", count: 13), "total 4",
            ])
    }

    @Test mutating func framesAtTheFootScrollOnlyTheReport() {
        for number in 1...30 { draw(["line", "total"], above: ["report \(number)"]) }
        #expect(terminal.screen.suffix(2) == ["line", "total"])
        #expect(terminal.history.count { $0 == "total" } == 1)
        #expect(terminal.history.count { $0.hasPrefix("report") } == 30)
    }

    @Test(arguments: [8, 10, 13, 19, 20, 40])
    mutating func resizeLeavesNothing(columns: Int) {
        draw(["the first line 1234", "the second 地図", "total 1"], above: ["report"])
        terminal.resize(columns: columns, rows: 12)
        draw(["first", "all 2"])
        #expect(terminal.history.filter { $0 == "all 2" }.count == 1, "\(terminal.history)")
        #expect(!terminal.history.joined().contains("total"), "\(terminal.history)")
        #expect(!terminal.history.joined().contains("second"), "\(terminal.history)")
        #expect(terminal.history.joined().hasPrefix("report"))
    }

    /// tmux tells a program of its new size up to a quarter of a second after it has it.
    @Test(arguments: [8, 10, 13, 19])
    mutating func frameForTheOldWidthLeavesNothingEither(columns: Int) {
        let lines = ["the first line 1234", "the second 地図", "total"]
        draw(lines, above: ["report"])
        terminal.resize(columns: columns, rows: 12)
        for _ in 1...3 {
            let text = frame.draw(lines, columns: 20)
            terminal.write(
                text.split(separator: "\n", omittingEmptySubsequences: false).joined(
                    separator: "\r\n"))
        }
        draw(["first", "all 2"])
        terminal.resize(columns: 40, rows: 12)
        #expect(terminal.history == ["report", "first", "all 2"])
    }

    @Test mutating func erasedLinesAreGoneAndTheReportStays() {
        draw(["line", "total"], above: ["report"])
        terminal.write(frame.erase())
        #expect(terminal.history == ["report"])
        #expect(frame.erase().isEmpty)
    }

    @Test func widthLeavesOutControlSequences() {
        #expect(TerminalFrame.width(of: "\u{1B}[33m地\u{1B}[0mx") == 3)
    }
}
