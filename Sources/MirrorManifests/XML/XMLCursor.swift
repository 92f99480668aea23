internal import CXML2

/// The position of libxml2 in its input, from which the places of elements and values follow.
///
/// libxml2 reports an element when the whole start tag has been read. Attribute values mostly lie
/// in its input buffer, so the distance from the cursor back to them gives their line and column.
struct XMLCursor {
    private let base: UnsafePointer<xmlChar>?
    private let cursor: UnsafePointer<xmlChar>?
    private let line: Int
    private let column: Int
    /// Whether the buffer begins where the document does.
    private let isAtBeginning: Bool

    init(_ context: xmlParserCtxtPtr?) {
        let input = context?.pointee.input?.pointee
        base = input?.base
        cursor = input?.cur
        line = Int(input?.line ?? 1)
        column = Int(input?.col ?? 1)
        isAtBeginning = input?.consumed == 0
    }

    /// The place of the cursor.
    var here: TextPosition { place(of: cursor) ?? TextPosition(line: line, column: column) }

    /// The place of the `<` that the tag before the cursor begins with.
    var elementStart: TextPosition {
        guard let base, var at = cursor else { return here }
        // No attribute can hold a `<`, so the nearest one before the cursor is the tag's.
        while at > base {
            at -= 1
            if at.pointee == UInt8(ascii: "<") { return place(of: at) ?? here }
        }
        return here
    }

    /// The place of a byte in the input buffer; nil for bytes that lie elsewhere.
    ///
    /// Bytes lie elsewhere if a reference in them was replaced.
    func place(of pointer: UnsafePointer<xmlChar>?) -> TextPosition? {
        guard let pointer, let base, let cursor, pointer >= base, pointer <= cursor
        else { return nil }
        let after = UnsafeBufferPointer(start: pointer, count: cursor - pointer)
        let lines = after.count { $0 == UInt8(ascii: "\n") }
        let before = UnsafeBufferPointer(start: base, count: pointer - base)
        if let newline = before.lastIndex(of: UInt8(ascii: "\n")) {
            let column = XMLCursor.scalars(before[(newline + 1)...]) + 1
            return TextPosition(line: line - lines, column: column)
        }
        if line == 1 || lines == 0 {
            // The line began before the buffer, or is the first one: count back from the cursor.
            return TextPosition(
                line: line - lines, column: max(column - XMLCursor.scalars(after), 1))
        }
        return TextPosition(line: line - lines, column: 1)
    }

    /// The place of a byte in a text that was just read.
    ///
    /// libxml2 hands over a text either before or after it moves its cursor behind the text. In
    /// both cases its line number includes the lines of the text, except for a CDATA section at
    /// which the cursor still stands.
    func place(
        of offset: Int, in text: UnsafeBufferPointer<UInt8>, isCDATA: Bool
    ) -> TextPosition {
        guard let start = text.baseAddress else { return here }
        guard start == cursor, let column = column(before: text, isCDATA: isCDATA) else {
            return place(of: start + offset) ?? copied(text).flatMap { place(of: $0 + offset) }
                ?? here
        }
        let newline = UInt8(ascii: "\n")
        let before = text[..<offset]
        let line =
            isCDATA
            ? line + before.count { $0 == newline }
            : line - text[offset...].count { $0 == newline }
        if let last = before.lastIndex(of: newline) {
            return TextPosition(line: line, column: XMLCursor.scalars(before[(last + 1)...]) + 1)
        }
        return TextPosition(line: line, column: column + XMLCursor.scalars(before))
    }

    /// The column at the cursor, where a text that was just read begins.
    ///
    /// If the text ended the line, libxml2's own column is already that of a later line.
    private func column(before text: UnsafeBufferPointer<UInt8>, isCDATA: Bool) -> Int? {
        guard let base, let cursor, !isCDATA, text.contains(UInt8(ascii: "\n")) else {
            return place(of: cursor)?.column
        }
        let before = UnsafeBufferPointer(start: base, count: cursor - base)
        if let newline = before.lastIndex(of: UInt8(ascii: "\n")) {
            return XMLCursor.scalars(before[(newline + 1)...]) + 1
        }
        // The line began before the buffer, so its length is unknown.
        guard isAtBeginning else { return 1 }
        let mark = before.starts(with: [0xEF, 0xBB, 0xBF]) ? 1 : 0
        return XMLCursor.scalars(before) + 1 - mark
    }

    /// The place in the input of a text that was copied from just before the cursor.
    ///
    /// Nil if a reference or a line end in the text was replaced.
    private func copied(_ text: UnsafeBufferPointer<UInt8>) -> UnsafePointer<xmlChar>? {
        guard let base, let cursor, cursor - base >= text.count else { return nil }
        let start = cursor - text.count
        return UnsafeBufferPointer(start: start, count: text.count).elementsEqual(text)
            ? start : nil
    }

    private static func scalars(_ bytes: some Sequence<UInt8>) -> Int {
        bytes.count { $0 & 0xC0 != 0x80 }
    }
}
