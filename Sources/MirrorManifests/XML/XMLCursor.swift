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
    /// How many bytes of the document are no longer in the buffer.
    private let consumed: Int
    private let mark: XMLMark

    init(_ context: xmlParserCtxtPtr?, _ mark: XMLMark) {
        self.mark = mark
        let input = context?.pointee.input?.pointee
        base = input?.base
        cursor = input?.cur
        line = Int(input?.line ?? 1)
        column = Int(input?.col ?? 1)
        isAtBeginning = input?.consumed == 0
        consumed = Int(clamping: input?.consumed ?? 0)
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
        let before = UnsafeBufferPointer(start: base, count: pointer - base)
        if let place = mark.advance(to: consumed + before.count, over: before) { return place }
        let place = placeBetweenLines(before, pointer, cursor)
        mark.set(place, at: consumed + before.count)
        return place
    }

    /// The place of a byte as its distance from the line ends around it says.
    private func placeBetweenLines(
        _ before: UnsafeBufferPointer<UInt8>, _ pointer: UnsafePointer<xmlChar>,
        _ cursor: UnsafePointer<xmlChar>
    ) -> TextPosition {
        let after = UnsafeBufferPointer(start: pointer, count: cursor - pointer)
        let lines = after.count { $0 == UInt8(ascii: "\n") }
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

/// The last byte whose place was asked for: places are counted from there, so that a document on one
/// line takes no longer than another.
final class XMLMark {
    private var offset = 0
    private var place = TextPosition()

    /// Moves to an offset; nil if that is impossible.
    ///
    /// - Parameter before: the bytes before the offset that are still at hand.
    fileprivate func advance(
        to offset: Int, over before: UnsafeBufferPointer<UInt8>
    ) -> TextPosition? {
        let start = before.count - (offset - self.offset)
        guard self.offset <= offset, start >= 0 else { return nil }
        var rest = before[start...]
        // A byte order mark is no character of the first line.
        if self.offset == 0, rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        for byte in rest {
            if byte == UInt8(ascii: "\n") {
                place = TextPosition(line: place.line + 1, column: 1)
            } else if byte & 0xC0 != 0x80 {
                place.column += 1
            }
        }
        self.offset = offset
        return place
    }

    /// Moves to an offset, whose place is known; never back.
    fileprivate func set(_ place: TextPosition, at offset: Int) {
        guard offset > self.offset else { return }
        (self.offset, self.place) = (offset, place)
    }
}
