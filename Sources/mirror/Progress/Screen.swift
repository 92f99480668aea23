import Synchronization

/// The terminal that both outputs share while progress is shown on it.
///
/// Whatever the command prints on that terminal goes above the lines of progress, in one write with
/// them. So no output can overwrite them, and no moment lacks them.
final class Screen: Sendable {
    static let shared = Screen()

    private struct State {
        var frame = TerminalFrame()
        var lines: [String] = []
        /// Text without the end of its line: nothing may be drawn before that.
        var isInsideLine = false
    }

    private let state = Mutex(State())

    /// Shows lines in place of those that are shown.
    func draw(_ lines: [String]) {
        state.withLock { state in
            if state.isInsideLine { return }
            state.lines = lines
            let columns = Console.error.size.columns
            Console.error.writeRaw(state.frame.draw(lines, columns: columns))
        }
    }

    /// Removes the lines.
    func clear() {
        state.withLock { state in
            guard state.frame.isShown else { return }
            Console.error.writeRaw(state.frame.erase())
        }
    }

    /// Writes what the command prints; false where no lines are shown and nothing was written.
    func print(_ bytes: [UInt8]) -> Bool {
        state.withLock { state in
            guard state.frame.isShown else {
                state.isInsideLine = bytes.last != UInt8(ascii: "\n")
                return false
            }
            let columns = Console.error.size.columns
            let text = String(decoding: bytes, as: UTF8.self)
            guard bytes.last == UInt8(ascii: "\n") else {
                state.isInsideLine = true
                Console.error.writeRaw(state.frame.erase() + text)
                return true
            }
            let report = text.dropLast().split(separator: "\n", omittingEmptySubsequences: false)
            Console.error.writeRaw(
                state.frame.draw(state.lines, above: report.map(String.init), columns: columns))
            return true
        }
    }

    /// What to write before the last words of a process that ends now: the lines go.
    func lastErasure() -> String {
        state.withLockIfAvailable { $0.frame.erase() } ?? ""
    }
}
