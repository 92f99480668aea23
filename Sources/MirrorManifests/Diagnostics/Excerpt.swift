/// Lines of a manifest around the place of a diagnostic, as values for whoever prints them.
///
/// Values of headers, bodies and unknown keys, queries and passwords of URLs are left out of the
/// lines, because they may be secrets. The text is as the manifest has it otherwise: whoever prints it
/// escapes it.
public struct Excerpt: Sendable, Hashable {
    /// A line, or the part of a long one around the place.
    public struct Line: Sendable, Hashable {
        /// Its number, from 1.
        public let number: Int
        /// Its text, without the line's end.
        public let text: String
        /// Whether the line has text before this.
        public let isCutBefore: Bool
        /// Whether the line has text behind this.
        public let isCutAfter: Bool
    }

    /// At most three lines, in their order.
    public let lines: [Line]
    /// The position in `lines` of the line that has the place.
    public let marked: Int
    /// What is meant, in Unicode scalars of that line's text; empty at the end of a line.
    public let mark: Range<Int>
}

/// A change of a manifest's text that is right beyond doubt.
public struct Replacement: Sendable, Hashable {
    /// The line, from 1.
    public let line: Int
    /// The column at which it begins, in Unicode scalars from 1.
    public let column: Int
    /// The column behind what is replaced; the column itself for an addition.
    public let endColumn: Int
    /// What is replaced; empty for an addition.
    public let old: String
    /// What takes its place; empty for a removal.
    public let new: String
    /// The line as it will be; the mark is on the new text.
    public let corrected: Excerpt
}
