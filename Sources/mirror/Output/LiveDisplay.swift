import MirrorModel
import Synchronization

/// Progress on standard error: live lines on a terminal, elsewhere a line every 30 seconds.
///
/// Results scroll above the live lines: all printing goes through `print`, which removes the live
/// lines first and restores them afterwards.
final class LiveDisplay: Sendable {
    private struct State {
        var board = ProgressBoard()
        var shownLines = 0
        var isOver = false
    }

    private let state = Mutex(State())
    private let isLive: Bool

    /// Makes a display for standard error; live when that is a terminal.
    init() { isLive = Console.error.isTerminal }

    /// Takes in an event of the run.
    func apply(_ event: Event) { state.withLock { $0.board.apply(event) } }

    /// Prints a line of the report, above the live lines.
    func print(_ text: String, on console: Console) {
        state.withLock { state in
            erase(&state)
            console.line(text)
        }
    }

    /// Draws until the task is cancelled.
    func run() async {
        let pause: Duration = isLive ? .milliseconds(250) : .seconds(30)
        while !Task.isCancelled {
            do { try await Task.sleep(for: pause) } catch { break }
            state.withLock { state in
                guard !state.isOver, state.board.isActive else { return }
                if isLive { return draw(&state) }
                for line in state.board.plainLines(now: .now) { Console.error.line(line) }
            }
        }
    }

    /// Removes the live lines for good.
    func end() {
        state.withLock { state in
            erase(&state)
            state.isOver = true
        }
    }

    private func draw(_ state: inout State) {
        let size = Console.error.size
        let lines = state.board.lines(
            columns: size.columns, rows: size.rows, now: .now)
        erase(&state)
        Console.error.write(lines.map { $0 + "\u{1B}[K\n" }.joined())
        state.shownLines = lines.count
    }

    /// Moves up over the live lines and clears to the end of the screen (ECMA-48 CUU, ED).
    ///
    /// It starts from the first column, because the terminal may have echoed a key.
    private func erase(_ state: inout State) {
        guard state.shownLines > 0 else { return }
        Console.error.write("\r\u{1B}[\(state.shownLines)A\u{1B}[J")
        state.shownLines = 0
    }
}
