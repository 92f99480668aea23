@testable import MirrorKit
import Testing

/// The columns that texts take on a terminal.
@Suite struct DisplayWidthTests {
    @Test(arguments: [
        ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("地図", 4), ("ﾊ", 1), ("Ａ", 2), ("🗺", 1),
        ("🚀", 2), ("…", 1), ("━", 1), ("a\u{200D}b", 2), ("한", 2), ("\u{20000}", 2),
    ])
    func textTakesItsColumns(text: String, columns: Int) {
        #expect(DisplayWidth.of(text) == columns)
    }

    @Test(arguments: [
        ("abcdef", 6, "abcdef", "abcdef"), ("abcdef", 4, "abc…", "…def"), ("地図地図", 6, "地図…", "…地図"),
        ("地図地図", 5, "地図…", "…地図"), ("地図地図", 4, "地…", "…図"), ("abc", 1, "…", "…"),
        ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…", "…e\u{301}"),
    ])
    func clippedTextFits(text: String, columns: Int, start: String, end: String) {
        #expect(text.clipped(toColumns: columns).unicodeScalars.elementsEqual(start.unicodeScalars))
        #expect(
            text.clippedAtStart(toColumns: columns).unicodeScalars.elementsEqual(end.unicodeScalars)
        )
        #expect(DisplayWidth.of(text.clipped(toColumns: columns)) <= columns)
        #expect(DisplayWidth.of(text.clippedAtStart(toColumns: columns)) <= columns)
    }
}
