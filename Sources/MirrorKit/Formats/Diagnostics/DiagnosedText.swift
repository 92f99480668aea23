/// The text that diagnostics refer to. It adds an excerpt and a replacement to each of them.
///
/// The decoders keep no text. So the text is read again to show diagnostics. The first reading
/// finds the beginnings of the lines, then each place gets a window.
struct DiagnosedText {
    /// The notation of a text, which decides where its words end.
    package enum Kind { case json, xml, list }

    /// The most bytes of a line that are read to find a place in the line.
    private static let longestSearch = 16 << 20
    /// `mostBefore`: the most scalars of an excerpt before the place.
    ///
    /// `mostAfter`: the most bytes that are read from the place on.
    private static let mostBefore = 120
    private static let mostAfter = 4096
    /// The most scalars of a line that an excerpt shows.
    private static let mostShown = 400

    let bytes: ManifestBytes
    let kind: Kind

    /// Returns the diagnostics of a log with their excerpts and replacements.
    func complete(_ entries: [DiagnosticLog.Entry]) -> [Diagnostic] {
        guard !entries.isEmpty, let starts = lineStarts(of: entries) else {
            return entries.map(\.diagnostic)
        }
        return entries.map { entry in
            var diagnostic = entry.diagnostic
            guard let window = window(at: diagnostic.place, starts) else { return diagnostic }
            let count = window.tokenLength(in: kind)
            diagnostic.endColumn = diagnostic.column + count
            diagnostic.excerpt = excerpt(window, markedScalars: count, starts)
            diagnostic.replacement = entry.correction.flatMap {
                replacement($0, at: window, tokenLength: count, starts)
            }
            return diagnostic
        }
    }

    // MARK: Finding

    /// Returns the offsets of the lines to show, by line number.
    ///
    /// Returns nil if the text cannot be read again.
    private func lineStarts(of entries: [DiagnosticLog.Entry]) -> [Int: Int]? {
        var wanted: Set<Int> = []
        for entry in entries {
            let line = entry.diagnostic.line
            wanted.formUnion([line - 1, line, line + 1])
            if case .missing(_, let place) = entry.correction { wanted.insert(place.line) }
        }
        var starts: [Int: Int] = [:]
        var (line, offset) = (1, 0)
        let last = wanted.max() ?? 0
        while line <= last, let chunk = bytes.piece(at: offset, count: 64 << 10), !chunk.isEmpty {
            var at = 0
            if offset == 0 {
                at = chunk.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
                if wanted.contains(1) { starts[1] = at }
            }
            while let newline = chunk[at...].firstIndex(of: 0x0A) {
                at = newline + 1
                line += 1
                if wanted.contains(line) { starts[line] = offset + at }
            }
            offset += chunk.count
        }
        return offset > 0 ? starts : nil
    }

    /// Returns the text around a place.
    ///
    /// Returns nil if the place does not exist, or is too far from the beginning of its line.
    private func window(at place: TextPosition, _ starts: [Int: Int]) -> TextWindow? {
        guard let start = starts[place.line] else { return nil }
        var (left, offset) = (place.column - 1, start)
        var before: [UInt8] = []
        var isCut = false
        search: while left > 0 {
            guard let piece = bytes.piece(at: offset, count: 4096), !piece.isEmpty,
                offset - start < Self.longestSearch
            else { break }
            for byte in piece {
                if byte == 0x0A { break search }
                let beginsScalar = byte & 0xC0 != 0x80
                if beginsScalar, left == 0 { break search }
                if beginsScalar { left -= 1 }
                before.append(byte)
                offset += 1
            }
            if before.count > 8 * Self.mostBefore {
                before.removeFirst(before.count - 4 * Self.mostBefore)
                isCut = true
            }
        }
        // A scalar's last bytes may be at the beginning of the next piece.
        while left == 0, !before.isEmpty, let next = bytes.piece(at: offset, count: 1)?.first,
            next & 0xC0 == 0x80
        {
            before.append(next)
            offset += 1
        }
        guard left == 0, let rest = bytes.piece(at: offset, count: Self.mostAfter) else {
            return nil
        }
        let after = Array(rest.prefix { $0 != 0x0A })
        var scalars = Array(String(decoding: before, as: UTF8.self).unicodeScalars)
        if scalars.count > Self.mostBefore {
            scalars.removeFirst(scalars.count - Self.mostBefore)
            isCut = true
        }
        return TextWindow(
            place: place, before: scalars,
            after: Array(String(decoding: after, as: UTF8.self).unicodeScalars).withoutReturn,
            isCutBefore: isCut, isCutAfter: after.count == Self.mostAfter)
    }

    // MARK: Showing

    private func excerpt(
        _ window: TextWindow, markedScalars count: Int, _ starts: [Int: Int]
    ) -> Excerpt? {
        let window = window.shortened(to: Self.mostShown)
        guard !window.scalars.contains("\0") else { return nil }
        let at = window.before.count
        let mark = at..<min(at + count, window.scalars.count)
        // Beside a part of a long line, the neighbouring lines are no help.
        let isWhole = !window.isCutBefore && !window.isCutAfter
        let line = window.place.line
        let previous = isWhole ? neighbour(line - 1, starts) : nil
        let next = isWhole ? neighbour(line + 1, starts) : nil
        let windows = [previous, window, next].compactMap { $0 }
        var mask = SecretMask(kind: kind)
        var lines: [Excerpt.Line] = []
        var shownMark = mark
        for shown in windows {
            mask.mask(shown)
            if shown.place == window.place { shownMark = mask.moved(mark) }
            lines.append(shown.line(mask.text))
        }
        return Excerpt(lines: lines, marked: previous == nil ? 0 : 1, mark: shownMark)
    }

    /// Returns a line beside the marked one. Returns nil if that line is missing or blank.
    private func neighbour(_ line: Int, _ starts: [Int: Int]) -> TextWindow? {
        guard let window = window(at: TextPosition(line: line, column: 1), starts) else {
            return nil
        }
        let isBlank = window.after.allSatisfy { $0 == " " || $0 == "\t" }
        return isBlank || window.after.contains("\0") ? nil : window.shortened(to: Self.mostShown)
    }

    // MARK: Correcting

    private func replacement(
        _ correction: Correction, at window: TextWindow, tokenLength: Int, _ starts: [Int: Int]
    ) -> Replacement? {
        var window = window
        guard let (range, text) = window.change(for: correction, tokenLength, in: kind) else {
            return nil
        }
        if case .missing(_, let place) = correction {
            guard let other = self.window(at: place, starts) else { return nil }
            window = other
        }
        let column = window.place.column + range.lowerBound
        var corrected = window
        let old = window.after[range]
        corrected.after.replaceSubrange(range, with: Array(text.unicodeScalars))
        corrected = corrected.shortened(to: Self.mostShown)
        var mask = SecretMask(kind: kind)
        mask.mask(corrected)
        let at = corrected.before.count + range.lowerBound
        let end = min(at + text.unicodeScalars.count, corrected.scalars.count)
        return Replacement(
            line: window.place.line, column: column, endColumn: column + range.count,
            old: String(old), new: text,
            corrected: Excerpt(
                lines: [corrected.line(mask.text)], marked: 0,
                mark: mask.moved(min(at, end)..<end)))
    }
}

/// The part of a line around a place.
struct TextWindow {
    let place: TextPosition
    /// `before`: the text before the place. `after`: the text from the place on.
    var before: [Unicode.Scalar]
    var after: [Unicode.Scalar]
    var isCutBefore: Bool
    var isCutAfter: Bool

    var scalars: [Unicode.Scalar] { before + after }

    /// Returns this window with at most `most` scalars; the rest is cut off at the end.
    func shortened(to most: Int) -> TextWindow {
        guard before.count + after.count > most else { return self }
        var short = self
        short.after = Array(after.prefix(most - before.count))
        short.isCutAfter = true
        return short
    }

    func line(_ text: String) -> Excerpt.Line {
        Excerpt.Line(
            number: place.line, text: text, isCutBefore: isCutBefore, isCutAfter: isCutAfter)
    }
}

extension String {
    init(_ scalars: some Sequence<Unicode.Scalar>) {
        var view = UnicodeScalarView()
        view.append(contentsOf: scalars)
        self = String(view)
    }
}

extension [Unicode.Scalar] {
    fileprivate var withoutReturn: [Unicode.Scalar] { last == "\r" ? dropLast() : self }
}

// MARK: The word at a place

extension TextWindow {
    /// Returns how many scalars the word at the place has; 0 at the end of the line.
    func tokenLength(in kind: DiagnosedText.Kind) -> Int {
        guard let first = after.first else { return 0 }
        switch kind {
        case .json: return TextWindow.json(after, first)
        case .xml: return TextWindow.xml(after, first, quote: before.last)
        case .list: return max(1, after.prefix { $0 != " " && $0 != "\t" }.count)
        }
    }

    private static func json(_ text: [Unicode.Scalar], _ first: Unicode.Scalar) -> Int {
        switch first {
        case "\"", "'": return quoted(text, by: first) ?? text.count
        case "\\": return min(text.count, text.dropFirst().first == "u" ? 6 : 2)
        case "/" where text.dropFirst().first == "*":
            let end = text.indices.dropFirst(3).first { text[$0 - 1] == "*" && text[$0] == "/" }
            return end.map { $0 + 1 } ?? text.count
        case "/", "#": return text.count
        default: return max(1, text.prefix(while: isWord).count)
        }
    }

    /// Returns the length of a quoted text with its quotes.
    ///
    /// Returns nil if the closing quote is missing.
    private static func quoted(_ text: [Unicode.Scalar], by quote: Unicode.Scalar) -> Int? {
        var at = 1
        while at < text.count {
            if text[at] == quote { return at + 1 }
            at += text[at] == "\\" ? 2 : 1
        }
        return nil
    }

    private static func xml(
        _ text: [Unicode.Scalar], _ first: Unicode.Scalar, quote: Unicode.Scalar?
    ) -> Int {
        if first == "<" { return 1 + text.dropFirst().prefix { isWord($0) || $0 == "/" }.count }
        if let quote, quote == "\"" || quote == "'" {
            return text.prefix { $0 != quote }.count
        }
        let run = text.prefix { $0 != "<" }
        let blanks = run.reversed().prefix { $0 == " " || $0 == "\t" }.count
        return max(1, run.count - blanks)
    }

    private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
            || "_-+.$".unicodeScalars.contains(scalar)
    }

    // MARK: Corrections

    /// Returns the scalars that a correction replaces, from the place on, and their replacement.
    ///
    /// Returns nil if the text is not what the decoder read.
    func change(
        for correction: Correction, _ length: Int, in kind: DiagnosedText.Kind
    ) -> (range: Range<Int>, text: String)? {
        let token = String(after.prefix(length))
        switch correction {
        case .written(let old, let new): return token == old ? (0..<length, new) : nil
        case .missing(let text, _): return (0..<0, text)
        case .value(let old, let new):
            guard TextWindow.isPlain(old), TextWindow.isPlain(new) else { return nil }
            if kind == .json { return token == "\"\(old)\"" ? (1..<length - 1, new) : nil }
            return token == old ? (0..<length, new) : nil
        case .quotes:
            let inner = String(token.unicodeScalars.dropFirst().dropLast())
            guard token.hasPrefix("'"), token.hasSuffix("'"), length >= 2,
                TextWindow.isPlain(inner)
            else { return nil }
            let rest = after.dropFirst(length).first { $0 != " " && $0 != "\t" }
            guard rest.map({ ":,}]".unicodeScalars.contains($0) }) ?? !isCutAfter else {
                return nil
            }
            return (0..<length, "\"\(inner)\"")
        }
    }

    /// Whether a text has no character that JSON or XML writes with an escape.
    private static func isPlain(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy {
            $0.value >= 0x20 && $0.value != 0x7F && !"\"'\\&<>".unicodeScalars.contains($0)
        }
    }
}
