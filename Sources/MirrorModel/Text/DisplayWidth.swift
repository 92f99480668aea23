/// How many columns of a terminal a text takes (wcwidth(3), without a locale).
package enum DisplayWidth {
    /// The columns of a text; of an escaped one, that is, without control characters.
    package static func of(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text.utf8.count }
        return text.unicodeScalars.reduce(0) { $0 + of($1) }
    }

    /// The columns of a character: 0 for one that changes another, 2 for a wide one.
    package static func of(_ scalar: Unicode.Scalar) -> Int {
        if scalar.value < 0x300 { return scalar.value == 0xAD ? 0 : 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: return isWide(scalar.value) ? 2 : 1
        }
    }

    private static func isWide(_ code: UInt32) -> Bool {
        if code < 0x1100 { return false }
        var (low, high) = (0, wide.count)
        while low < high {
            let middle = (low + high) / 2
            if wide[middle].last < code { low = middle + 1 } else { high = middle }
        }
        return low < wide.count && wide[low].first <= code
    }
}

extension String {
    /// The beginning of the text that takes at most so many columns, and an ellipsis if that is not all.
    package func clipped(toColumns columns: Int) -> String {
        guard DisplayWidth.of(self) > columns else { return self }
        return String(scalars(unicodeScalars, columns: columns - 1)) + "…"
    }

    /// The end of the text that takes at most so many columns, and an ellipsis if that is not all.
    package func clippedAtStart(toColumns columns: Int) -> String {
        guard DisplayWidth.of(self) > columns else { return self }
        let end = scalars(unicodeScalars.reversed(), columns: columns - 1)
        return "…"
            + String(
                String.UnicodeScalarView(
                    end.reversed().drop {
                        DisplayWidth.of($0) == 0
                    }))
    }

    /// The text with spaces behind it, so that it takes so many columns.
    package func padded(toColumns columns: Int) -> String {
        self + String(repeating: " ", count: Swift.max(0, columns - DisplayWidth.of(self)))
    }

    private func scalars(
        _ source: some Sequence<Unicode.Scalar>, columns: Int
    ) -> UnicodeScalarView {
        var result = UnicodeScalarView()
        var used = 0
        for scalar in source {
            let width = DisplayWidth.of(scalar)
            if used + width > columns { break }
            used += width
            result.append(scalar)
        }
        return result
    }
}
