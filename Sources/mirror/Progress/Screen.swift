import MirrorKit
import Synchronization

/// The terminal that both outputs share while progress is shown on this terminal.
///
/// Output of the command goes above the lines of progress, in one write with them. So no output can
/// overwrite these lines, and they are visible at any moment.
final class Screen: Sendable {
    static let shared = Screen()

    private let frame = Mutex(TerminalFrame())

    /// Shows lines in place of the lines that are shown.
    func draw(_ lines: [String]) {
        frame.withLock { frame in
            if frame.isInsideLine { return }
            let columns = Console.error.size.columns
            Console.error.writeRaw(frame.draw(lines, columns: columns))
        }
    }

    /// Removes the lines of progress.
    func clear() {
        frame.withLock { frame in
            if frame.isShown { Console.error.writeRaw(frame.erase()) }
        }
    }

    /// Writes output of the command above the lines of progress.
    ///
    /// Returns false, and writes nothing, if no lines are shown.
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

    /// Returns the text that removes the lines, for a process that ends now.
    func lastErasure() -> String {
        frame.withLockIfAvailable { $0.erase() } ?? ""
    }
}

/// The lines at the foot of a terminal that are rewritten in place.
///
/// The cursor rests on the first character of the first line. Terminals keep it there when their
/// width changes and lines wrap. So the next frame begins at the right place, however many rows the
/// old lines take by then. While lines are written, wrapping is off (DECAWM). A line then takes one
/// row, even if the terminal has just become narrower.
///
/// A frame is one text. New lines of the report come first, then each line over the old one. Then
/// the rest of the old frame is cleared, so the total is visible at any moment. The sequences are
/// ECMA-48's (CUU, EL, ED). A terminal that knows synchronised output (mode 2026) shows the text at
/// once, and others ignore the mode.
struct TerminalFrame: Sendable {
    /// The lines that are shown.
    private(set) var lines: [String] = []
    /// Whether lines are shown.
    var isShown: Bool { !lines.isEmpty }
    /// Whether the last output ended within a line. No lines may be drawn before the line ends.
    var isInsideLine = false

    /// Returns the text that replaces the old lines by these, with lines of the report above.
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

    /// Returns the text that removes the lines for good.
    mutating func erase() -> String {
        guard isShown else { return "" }
        lines = []
        return "\r\u{1B}[J"
    }

    /// Returns the sequence that clears the rest of a row.
    ///
    /// Returns an empty text if the line fills its row. The cursor then still stands on the last
    /// character, which would be cleared.
    private static func clear(after line: String, _ columns: Int) -> String {
        let width = width(of: line)
        return width > 0 && width % max(1, columns) == 0 ? "" : "\u{1B}[K"
    }

    /// Breaks a line between words, so that each part has fewer than `columns` columns.
    ///
    /// The parts after the first begin where the text behind a label begins. A word that is longer
    /// than a part stays whole.
    static func wrapped(_ line: String, columns: Int) -> String {
        if width(of: line) < columns { return line }
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        let hasLabel = words.dropFirst().prefix { $0.isEmpty }.count > 0
        let indentation = String(repeating: " ", count: hasLabel ? TextStyle.labelWidth : 2)
        var (text, used) = ("", 0)
        for (position, word) in words.enumerated() {
            let wide = width(of: String(word))
            if position > 0, used + 1 + wide >= columns, used > indentation.count, wide > 0 {
                text += "\n" + indentation + word
                used = indentation.count + wide
            } else {
                text += (position > 0 ? " " : "") + word
                used += (position > 0 ? 1 : 0) + wide
            }
        }
        return text
    }

    /// Returns the columns of a line, without its control sequences.
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
