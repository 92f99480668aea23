/// A small terminal: what a reader sees after some bytes were written to it.
///
/// It knows what programs that rewrite lines in place use (ECMA-48 CUU, CR, LF, EL, ED, SGR, which it
/// skips, and DECAWM), wraps lines that are too long, scrolls, and reflows when it gets another width, as
/// tmux(1) and VTE do.
public struct TerminalModel {
    /// A row, and whether the next one continues it.
    private struct Row {
        var cells: [String] = []
        var isContinued = false

        var text: String {
            var text = cells.joined()
            while text.hasSuffix(" ") { text.removeLast() }
            return text
        }
    }

    /// The width in characters.
    public private(set) var columns: Int
    /// The height in characters.
    public private(set) var rows: Int
    /// All rows, also those that have scrolled away.
    private var all: [Row] = [Row()]
    /// Where the next character goes; the row counts from the first of all.
    private var row = 0
    private var column = 0
    private var sequence: [Unicode.Scalar]?
    /// Whether characters beyond the last column go to the next row (DECAWM).
    private var wraps = true
    private let width: (Unicode.Scalar) -> Int
    /// What could not be understood.
    public private(set) var complaints: [String] = []
    /// The screens at the ends of updates (mode 2026), in order.
    public private(set) var frames: [[String]] = []

    /// Makes an empty terminal; `width` is the number of columns of a character.
    public init(columns: Int, rows: Int, width: @escaping (Unicode.Scalar) -> Int = { _ in 1 }) {
        (self.columns, self.rows, self.width) = (columns, rows, width)
    }

    /// The rows that can be seen, without the empty ones at the end.
    public var screen: [String] { texts(from: top) }

    /// All rows, also those above the screen.
    public var history: [String] { texts(from: 0) }

    /// The row of the screen that the cursor is in.
    public var cursorRow: Int { row - top }

    private var top: Int { max(0, all.count - rows) }

    private func texts(from start: Int) -> [String] {
        var texts = all[start...].map(\.text)
        while texts.last == "" { texts.removeLast() }
        return texts
    }

    /// Takes in what was written.
    public mutating func write(_ text: String) {
        for scalar in text.unicodeScalars { take(scalar) }
    }

    private mutating func take(_ scalar: Unicode.Scalar) {
        if var open = sequence {
            open.append(scalar)
            let isEnd = open.count > 1 && (0x40...0x7E).contains(scalar.value)
            sequence = isEnd ? nil : open
            if isEnd { carryOut(open) }
            return
        }
        switch scalar {
        case "\u{1B}": sequence = []
        case "\r": column = 0
        case "\n":
            all[row].isContinued = false
            row += 1
            if row == all.count { all.append(Row()) }
        case "\u{8}": column = max(0, column - 1)
        default: put(scalar)
        }
    }

    private mutating func put(_ scalar: Unicode.Scalar) {
        let width = width(scalar)
        guard width > 0 else {
            let at = min(column, all[row].cells.count) - 1
            if at >= 0 { all[row].cells[at].unicodeScalars.append(scalar) }
            return
        }
        // The cursor stays on the last character of a full row until the next one comes.
        if column + width > columns, !wraps { column = columns - width }
        if column + width > columns {
            all[row].isContinued = true
            column = 0
            row += 1
            if row == all.count { all.append(Row()) }
        }
        while all[row].cells.count < column + width { all[row].cells.append(" ") }
        all[row].cells[column] = String(scalar)
        for further in 1..<max(1, width) where width > 1 { all[row].cells[column + further] = "" }
        column += width
        if !wraps { column = min(column, columns - 1) }
    }

    private mutating func carryOut(_ sequence: [Unicode.Scalar]) {
        let parameters = sequence.dropFirst().dropLast().reduce(into: "") {
            $0.unicodeScalars.append($1)
        }
        let number = Int(parameters) ?? 0
        switch sequence.last {
        case "A": row = max(top, row - max(1, number))
        case "K" where number == 0:
            let at = min(column, columns - 1)
            if all[row].cells.count > at { all[row].cells.removeSubrange(at...) }
            all[row].isContinued = false
        case "J" where number == 0:
            let at = min(column, columns - 1)
            if all[row].cells.count > at { all[row].cells.removeSubrange(at...) }
            all[row].isContinued = false
            // Rows below are cleared, and stay.
            for below in all.indices where below > row { all[below] = Row() }
        case "m": break
        case "h" where parameters == "?2026": break
        case "h" where parameters == "?7": wraps = true
        case "l" where parameters == "?7": wraps = false
        case "l" where parameters == "?2026": frames.append(screen)
        default: complaints.append(String(describing: sequence))
        }
    }

    /// Gets another size: rows that one line was wrapped into are joined and wrapped again.
    public mutating func resize(columns: Int, rows: Int) {
        var joined: [Row] = []
        var cursorLine = 0
        var cursorOffset = 0
        for (number, row) in all.enumerated() {
            let continues = number > 0 && all[number - 1].isContinued
            if !continues { joined.append(Row()) }
            if number == self.row {
                cursorLine = joined.count - 1
                cursorOffset = joined[cursorLine].cells.count + column
            }
            joined[joined.count - 1].cells += row.cells
        }
        all = []
        for (number, line) in joined.enumerated() {
            var cells = line.cells[...]
            let first = all.count
            repeat {
                let part = cells.prefix(columns)
                cells = cells.dropFirst(columns)
                all.append(Row(cells: Array(part), isContinued: !cells.isEmpty))
            } while !cells.isEmpty
            if number == cursorLine {
                row = min(first + cursorOffset / columns, all.count - 1)
                column = cursorOffset % columns
            }
        }
        (self.columns, self.rows) = (columns, rows)
    }
}
