import MirrorModel
import Synchronization

/// The terminal that both outputs share while progress is shown on it.
///
/// Whatever the command prints on that terminal goes above the lines of progress, in one write with
/// them. So no output can overwrite them, and no moment lacks them.
final class Screen: Sendable {
    static let shared = Screen()

    private let frame = Mutex(TerminalFrame())

    /// Shows lines in place of those that are shown.
    func draw(_ lines: [String]) {
        frame.withLock { frame in
            if frame.isInsideLine { return }
            let columns = Console.error.size.columns
            Console.error.writeRaw(frame.draw(lines, columns: columns))
        }
    }

    /// Removes the lines.
    func clear() {
        frame.withLock { frame in
            if frame.isShown { Console.error.writeRaw(frame.erase()) }
        }
    }

    /// Writes what the command prints; false where no lines are shown and nothing was written.
    func print(_ bytes: [UInt8]) -> Bool {
        frame.withLock { frame in
            guard frame.isShown else {
                frame.isInsideLine = bytes.last != UInt8(ascii: "\n")
                return false
            }
            let columns = Console.error.size.columns
            let text = String(decoding: bytes, as: UTF8.self)
            guard bytes.last == UInt8(ascii: "\n") else {
                frame.isInsideLine = true
                Console.error.writeRaw(frame.erase() + text)
                return true
            }
            let report = text.dropLast().split(separator: "\n", omittingEmptySubsequences: false)
            Console.error.writeRaw(
                frame.draw(frame.lines, above: report.map(String.init), columns: columns))
            return true
        }
    }

    /// What to write before the last words of a process that ends now: the lines go.
    func lastErasure() -> String {
        frame.withLockIfAvailable { $0.erase() } ?? ""
    }
}

/// The lines at the foot of a terminal that are rewritten in place.
///
/// The cursor rests on the first character of the first line. Terminals keep it there when they get
/// another width and wrap what they show, so the next frame begins where it must, however many rows
/// the old lines take by then. While lines are written, wrapping is off (DECAWM): a line takes one row
/// even if the terminal became narrower in this moment and has not said so.
///
/// A frame is one text: what is new in the report, then each line over the old one, then what is left
/// of the old frame is cleared. So no moment lacks the total. The sequences are ECMA-48's (CUU, EL,
/// ED); a terminal that knows synchronised output (mode 2026) shows the text at once, and others
/// ignore it.
struct TerminalFrame: Sendable {
    /// The lines that are shown.
    private(set) var lines: [String] = []
    /// Whether lines are shown.
    var isShown: Bool { !lines.isEmpty }
    /// Text without the end of its line: nothing may be drawn before that.
    var isInsideLine = false

    /// What to write to show these lines in place of the old ones, with lines of the report above.
    mutating func draw(_ lines: [String], above report: [String] = [], columns: Int) -> String {
        var text = "\u{1B}[?2026h\r"
        for line in report { text += line + TerminalFrame.clear(after: line, columns) + "\n" }
        text += "\u{1B}[?7l"
        for line in lines { text += line + "\u{1B}[K\n" }
        text += "\u{1B}[?7h\u{1B}[J"
        if !lines.isEmpty { text += "\u{1B}[\(lines.count)A" }
        self.lines = lines
        return text + "\u{1B}[?2026l"
    }

    /// What to write to remove the lines for good.
    mutating func erase() -> String {
        guard isShown else { return "" }
        lines = []
        return "\r\u{1B}[J"
    }

    /// Clears the rest of a row, unless the text ends with it: the cursor then still stands on the last
    /// character, which would be cleared.
    private static func clear(after line: String, _ columns: Int) -> String {
        let width = width(of: line)
        return width > 0 && width % max(1, columns) == 0 ? "" : "\u{1B}[K"
    }

    /// The columns of a line, without its control sequences.
    static func width(of line: String) -> Int {
        guard line.utf8.contains(0x1B) else { return DisplayWidth.of(line) }
        var plain = ""
        var isSequence = false
        for scalar in line.unicodeScalars {
            if isSequence {
                if (0x40...0x7E).contains(scalar.value), scalar != "[" { isSequence = false }
            } else if scalar == "\u{1B}" {
                isSequence = true
            } else {
                plain.unicodeScalars.append(scalar)
            }
        }
        return DisplayWidth.of(plain)
    }
}
