import MirrorKit

/// The text of a diagnostic for people.
///
/// It has the line that compilers print, the manifest's lines with a mark, and the corrected line
/// if that is certain. The width and the colours are parameters, so that the text is a function of
/// values.
struct DiagnosticText {
    let style: TextStyle
    /// The columns of the output. Of a longer line, only the part around the mark is shown.
    let columns: Int

    /// Returns the diagnostic, its excerpt and its corrected line, as lines.
    func lines(for diagnostic: Diagnostic) -> [String] {
        let meaning: TextStyle.Meaning = diagnostic.severity == .error ? .failure : .warning
        var lines = [header(diagnostic, meaning)]
        guard let excerpt = diagnostic.excerpt else { return lines }
        lines += self.lines(of: excerpt, mark: "^", meaning)
        if let replacement = diagnostic.replacement {
            lines.append(style.paint("help", .good) + ": " + help(replacement))
            lines += self.lines(of: replacement.corrected, mark: "~", .good)
        }
        return lines
    }

    private func header(_ diagnostic: Diagnostic, _ meaning: TextStyle.Meaning) -> String {
        "\(diagnostic.file.printable):\(diagnostic.line):\(diagnostic.column): "
            + style.paint(diagnostic.severity.rawValue, meaning) + ": " + diagnostic.sentence
    }

    private func help(_ replacement: Replacement) -> String {
        if replacement.new.isEmpty {
            return replacement.old == ","
                ? "remove the comma" : "remove \(replacement.old.printable)"
        }
        if replacement.old.isEmpty, replacement.new == "," { return "add a comma" }
        let new = replacement.new.printable.clipped(toColumns: 60)
        return (replacement.old.isEmpty ? "add " : "write ") + new
    }

    /// Returns the lines of an excerpt with their numbers, and a mark below the marked text.
    private func lines(
        of excerpt: Excerpt, mark: Character, _ meaning: TextStyle.Meaning
    ) -> [String] {
        guard excerpt.lines.indices.contains(excerpt.marked) else { return [] }
        let gutter = "\(excerpt.lines.last?.number ?? 0)".count + 2
        let room = max(20, columns - gutter - 3)
        let line = excerpt.lines[excerpt.marked]
        let marked = DiagnosticText.fit(line, mark: excerpt.mark, columns: room)
        // If the beginning of the marked line is cut off, the columns of the lines beside it would
        // not match.
        let shown = marked.isWhole ? excerpt.lines : [line]
        return shown.flatMap { shown -> [String] in
            let number = "\(shown.number)"
            let bar = style.faint(
                String(repeating: " ", count: gutter - number.count) + number + " |")
            if shown.number != line.number {
                let text = DiagnosticText.fit(shown, mark: 0..<0, columns: room).text
                return [text.isEmpty ? bar : "\(bar) \(text)"]
            }
            let empty = style.faint(String(repeating: " ", count: gutter) + " |")
            let indentation = String(repeating: " ", count: marked.mark.lowerBound)
            let marks = String(repeating: mark, count: max(1, marked.mark.count))
            return [
                "\(bar) \(marked.text)", "\(empty) \(indentation)" + style.paint(marks, meaning),
            ]
        }
    }
}

extension DiagnosticText {
    /// Fits a line into the columns of a terminal.
    ///
    /// Returns the text, the columns of its mark (from 0), and whether the beginning of the line is
    /// complete. Control characters are shown by number, a tab as spaces up to the next fourth
    /// column.
    private static func fit(
        _ line: Excerpt.Line, mark: Range<Int>, columns: Int
    ) -> (text: String, mark: Range<Int>, isWhole: Bool) {
        let cells = cells(line.text)
        let width = { (range: Range<Int>) in cells[range].reduce(0) { $0 + $1.width } }
        let count = cells.count
        let marked = min(mark.lowerBound, count)..<min(mark.upperBound, count)
        var start = 0
        // If the whole line does not fit, the mark begins in the first third.
        if width(0..<count) > columns, width(0..<marked.upperBound) >= columns - 1 {
            while start < marked.lowerBound, width(start..<marked.lowerBound) > columns / 3 {
                start += 1
            }
        }
        let isWhole = start == 0 && !line.isCutBefore
        var used = isWhole ? 0 : 1
        var text = isWhole ? "" : "…"
        var (first, last) = (used, used)
        var end = start
        while end < count, used + cells[end].width <= columns - 1 {
            if end == marked.lowerBound { first = used }
            text += cells[end].text
            used += cells[end].width
            end += 1
            if end <= marked.upperBound { last = used }
        }
        if end <= marked.lowerBound { (first, last) = (used, used) }
        if end < count || line.isCutAfter { text += "…" }
        return (text, first..<max(first, last), isWhole)
    }

    private static func cells(_ text: String) -> [(text: String, width: Int)] {
        var column = 0
        return text.unicodeScalars.map { scalar in
            var shown = String(scalar).printable
            if scalar == "\t" { shown = String(repeating: " ", count: 4 - column % 4) }
            let width = DisplayWidth.of(shown)
            column += width
            return (shown, width)
        }
    }
}
