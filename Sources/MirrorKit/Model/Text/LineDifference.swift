/// The lines in which two short texts differ, with the lines around them, as diff(1) shows them.
package enum LineDifference: Sendable, Hashable {
    /// Both have the same bytes.
    case same
    /// The lines of the difference, each with its mark: `@@`, a space, `-` or `+`.
    ///
    /// `more` is the number of further lines.
    case lines([String], more: Int)
    /// A text has too many bytes or lines to compare.
    case tooLong
    /// One of them is no text: it is not UTF-8, or has a NUL.
    case noText
    /// One of them cannot be read.
    case unread

    /// The most bytes that a text may have.
    package static let mostBytes = 256 << 10
    /// The most lines that a text may have. Memory grows with the square of the changed ones.
    static let mostLines = 1000
    /// The most lines of a difference.
    static let mostShown = 100
    /// How many equal lines are shown before and after a change.
    private static let around = 3

    /// Compares two texts; `old` has the lines with a minus, `new` those with a plus.
    init(from old: [UInt8], to new: [UInt8]) {
        guard max(old.count, new.count) <= LineDifference.mostBytes else {
            self = .tooLong
            return
        }
        if old == new {
            self = .same
            return
        }
        guard !old.contains(0), !new.contains(0),
            let before = String(validating: old, as: UTF8.self),
            let after = String(validating: new, as: UTF8.self)
        else {
            self = .noText
            return
        }
        let (left, right) = (LineDifference.lines(before), LineDifference.lines(after))
        guard max(left.count, right.count) <= LineDifference.mostLines else {
            self = .tooLong
            return
        }
        let all = LineDifference.hunks(LineDifference.script(from: left, to: right))
        let shown = all.prefix(LineDifference.mostShown)
        self = .lines(Array(shown), more: all.count - shown.count)
    }

    /// Splits a text after its line breaks. A carriage return is part of the line.
    private static func lines(_ text: String) -> [Substring] {
        let newline = UInt8(ascii: "\n")
        var lines: [Substring] = []
        var rest = Substring(text)
        while let end = rest.utf8.firstIndex(of: newline) {
            let next = rest.utf8.index(after: end)
            lines.append(rest[..<next])
            rest = rest[next...]
        }
        if !rest.isEmpty { lines.append(rest) }
        return lines
    }

    /// A line of either text: in both, only in the old one, or only in the new one.
    private struct Line {
        let mark: Character
        let text: Substring
    }

    /// Returns the lines of both texts in order, with as many common ones as there are.
    private static func script(from old: [Substring], to new: [Substring]) -> [Line] {
        // Equal bytes count, not equal characters.
        let (left, right) = (old.map { Array($0.utf8) }, new.map { Array($0.utf8) })
        var (gone, come) = (PositionSet(), PositionSet())
        for change in right.difference(from: left) {
            switch change {
            case .remove(let offset, _, _): gone.insert(offset)
            case .insert(let offset, _, _): come.insert(offset)
            }
        }
        var lines: [Line] = []
        var (row, column) = (0, 0)
        while row < old.count || column < new.count {
            if gone.contains(row) {
                lines.append(Line(mark: "-", text: old[row]))
                row += 1
            } else if come.contains(column) {
                lines.append(Line(mark: "+", text: new[column]))
                column += 1
            } else {
                lines.append(Line(mark: " ", text: old[row]))
                (row, column) = (row + 1, column + 1)
            }
        }
        return lines
    }

    /// Returns the changed lines with those around them, each group under its line numbers.
    private static func hunks(_ script: [Line]) -> [String] {
        var shown: [String] = []
        var (old, new) = (1, 1)
        var at = 0
        while let change = script[at...].firstIndex(where: { $0.mark != " " }) {
            let start = max(at, change - around)
            (old, new) = (old + start - at, new + start - at)
            // Changes with at most six equal lines between them are one group.
            var last = change
            while let next = script[(last + 1)...].firstIndex(where: { $0.mark != " " }),
                next - last <= 2 * around + 1
            { last = next }
            let group = script[start..<min(script.count, last + 1 + around)]
            let (gone, come) = (
                group.count { $0.mark != "+" }, group.count { $0.mark != "-" }
            )
            // Where no line is shown, the number is that of the line before.
            shown.append(
                "@@ -\(gone == 0 ? old - 1 : old),\(gone) +\(come == 0 ? new - 1 : new),\(come) @@")
            for line in group {
                let isWhole = line.text.utf8.last == UInt8(ascii: "\n")
                // The last character may be a carriage return together with the line break.
                let text = isWhole ? Substring(line.text.utf8.dropLast()) : line.text
                shown.append("\(line.mark)\(text)")
                if !isWhole { shown.append("\\ No newline at end of file") }
            }
            (old, new) = (old + gone, new + come)
            at = group.endIndex
        }
        return shown
    }
}
