internal import CXML2

/// A push parser over libxml2's SAX2 interface (xmlCreatePushParserCtxt, xmlParseChunk).
///
/// A DOCTYPE is refused at its first event, before any declaration in it is read. So only the
/// predefined entities exist: no entity can be expanded, and nothing can be fetched. libxml2's own
/// limits (10 MB for a text, XML_PARSE_HUGE is off) stay in force above the ones here.
final class XMLPushParser {
    /// How many elements may be open at once.
    static let deepest = 64
    /// The most attributes of an element, its namespaces included.
    ///
    /// libxml2 compares all of them with each other.
    static let mostAttributes = 256
    /// The greatest length of a text or an attribute in bytes.
    static let longestText = 1 << 20

    /// Makes the tables of libxml2, once, because several threads must not do so (xmlInitParser).
    static let prepareLibrary: Void = xmlInitParser()

    private let log: DiagnosticLog
    private let dialect: any XMLDialect
    private var context: xmlParserCtxtPtr?
    private var texts: [(bytes: [UInt8], place: TextPosition?)] = []
    private var isStopped = false
    /// The last byte whose place was asked for, and its place.
    ///
    /// Places are counted from here, so that a document on one line takes no longer than another.
    private var mark = (offset: 0, place: TextPosition())

    init(log: DiagnosticLog, dialect: any XMLDialect) {
        self.log = log
        self.dialect = dialect
    }

    /// Parses a whole document.
    func parse(_ bytes: ManifestBytes) throws(DecodingStop) {
        XMLPushParser.prepareLibrary
        var handlers = xmlSAXHandler()
        handlers.initialized = XML_SAX2_MAGIC
        handlers.startElementNs = startElement
        handlers.endElementNs = endElement
        handlers.characters = characters
        handlers.cdataBlock = cdata
        handlers.internalSubset = doctype
        handlers.serror = complaint
        let user = Unmanaged.passUnretained(self).toOpaque()
        // The context copies the handlers; this object outlives it, so the callbacks find it alive.
        context = xmlCreatePushParserCtxt(&handlers, user, nil, 0, nil)
        guard context != nil else {
            throw .unreadable(MirrorError(.internalError, "libxml2 cannot make a parser."))
        }
        defer {
            xmlFreeParserCtxt(context)
            context = nil
        }
        // Without NOENT an attribute's `&amp;` arrives as `&#38;`. No entity but the predefined
        // ones can exist, so nothing else is replaced.
        xmlCtxtUseOptions(
            context, Int32(XML_PARSE_NONET.rawValue | XML_PARSE_NOENT.rawValue))
        bytes.rewind()
        var chunk: [UInt8] = []
        var utf8 = UTF8Check()
        var limit = XMLAttributeLimit(most: Self.mostAttributes)
        repeat {
            try bytes.next(&chunk)
            let good = utf8.advance(over: chunk)
            // The bytes before the first bad one are parsed, so that their errors are found too.
            let excess = chunk.withUnsafeBufferPointer {
                limit.advance(over: UnsafeBufferPointer(rebasing: $0[..<good]))
            }
            chunk.prefix(excess ?? good).withUnsafeBytes { raw in
                let text = raw.bindMemory(to: CChar.self)
                xmlParseChunk(context, text.baseAddress, Int32(text.count), 0)
            }
            if excess != nil {
                stop(
                    "more than \(Self.mostAttributes) attributes in one element",
                    at: here)
            }
            if isStopped { throw .refused }
            if good < chunk.count || (chunk.isEmpty && utf8.isInside) {
                log.error(at: utf8.position, UTF8Check.message)
                throw .refused
            }
        } while !chunk.isEmpty
        xmlParseChunk(context, nil, 0, 1)
        if isStopped || context?.pointee.wellFormed == 0 { throw .refused }
    }

    fileprivate func stop(_ message: String, at place: TextPosition) {
        guard !isStopped else { return }
        log.error(at: place, message)
        isStopped = true
        xmlStopParser(context)
    }

    fileprivate func start(
        _ name: String, _ namespace: String?,
        _ attributes: [(name: String, value: UnsafeBufferPointer<UInt8>)]
    ) {
        let place = elementStart
        guard texts.count < Self.deepest else {
            stop("more than \(Self.deepest) levels of elements", at: place)
            return
        }
        // Blanks between elements are dropped: they are no text, and a million elements have very
        // many.
        if let outer = texts.last, outer.place == nil {
            texts[texts.count - 1].bytes.removeAll(keepingCapacity: true)
        }
        texts.append(([], nil))
        dialect.start(
            XMLElement(
                name: name, namespace: namespace,
                attributes: attributes.map { name, value in
                    let text = String(decoding: value, as: UTF8.self)
                    let start = self.place(of: value.baseAddress) ?? place
                    return (name, Located(value: text, place: start))
                },
                place: place))
        if attributes.contains(where: { $0.value.count > Self.longestText }) {
            stop(JSONTokenizer.longTextMessage, at: place)
        }
    }

    fileprivate func end() {
        guard !isStopped, let text = texts.popLast() else { return }
        let place = here
        dialect.end(
            text: String(decoding: text.bytes, as: UTF8.self), textAt: text.place ?? place,
            at: place)
    }

    fileprivate func add(_ bytes: UnsafeBufferPointer<UInt8>, isCDATA: Bool) {
        guard !isStopped, !texts.isEmpty else { return }
        let last = texts.count - 1
        if texts[last].place == nil,
            let first = bytes.firstIndex(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) })
        {
            texts[last].place = place(of: first, in: bytes, isCDATA: isCDATA)
        }
        texts[last].bytes += bytes
        if texts[last].bytes.count > Self.longestText {
            stop(JSONTokenizer.longTextMessage, at: here)
        }
    }

    fileprivate func refuseDoctype() {
        stop("a DOCTYPE; remove it", at: elementStart)
    }

    fileprivate func complain(_ error: xmlError) {
        // Warnings are ignored. Complaints about namespaces are no warnings, but errors of a
        // manifest.
        guard error.level.rawValue >= XML_ERR_ERROR.rawValue else { return }
        if error.code == XML_ERR_DOCUMENT_END.rawValue, !texts.isEmpty {
            stop(
                "the document ends inside \(texts.count) open elements; was it cut off?",
                at: here)
            return
        }
        let message = error.message.map { String(cString: $0) } ?? "not well-formed"
        let line = message.split(separator: "\n").first.map(String.init) ?? message
        stop(
            "not well-formed XML: \(Escaped(line, limit: 200))",
            at: TextPosition(line: max(Int(error.line), 1), column: max(Int(error.int2), 1)))
    }
}

// MARK: Places

// libxml2 reports an element when the whole start tag has been read. Attribute values mostly lie in
// its input buffer, so their distance from the cursor gives their line and column.

extension XMLPushParser {
    /// The input buffer with libxml2's position in it.
    private var input: xmlParserInput? { context?.pointee.input?.pointee }
    private var line: Int { Int(input?.line ?? 1) }

    /// The place of the cursor.
    private var here: TextPosition {
        place(of: input?.cur) ?? TextPosition(line: line, column: Int(input?.col ?? 1))
    }

    /// The place of the `<` that the tag before the cursor begins with.
    private var elementStart: TextPosition {
        guard let base = input?.base, var at = input?.cur else { return here }
        // No attribute can hold a `<`, so the nearest one before the cursor is the tag's.
        while at > base {
            at -= 1
            if at.pointee == UInt8(ascii: "<") { return place(of: at) ?? here }
        }
        return here
    }

    /// Returns the place of a byte in the input buffer.
    ///
    /// Returns nil if the byte lies elsewhere, because a reference in its text was replaced.
    private func place(of pointer: UnsafePointer<xmlChar>?) -> TextPosition? {
        guard let pointer, let input, let base = input.base, let cursor = input.cur,
            pointer >= base, pointer <= cursor
        else { return nil }
        let before = UnsafeBufferPointer(start: base, count: pointer - base)
        // Bytes that have left the buffer are counted in `consumed`.
        let offset = Int(clamping: input.consumed) + before.count
        if let place = advanceMark(to: offset, over: before) { return place }
        let place = placeBetweenLines(before, pointer, cursor)
        if offset > mark.offset { mark = (offset, place) }
        return place
    }

    /// Returns the place of a byte, counted from the line ends around it.
    private func placeBetweenLines(
        _ before: UnsafeBufferPointer<UInt8>, _ pointer: UnsafePointer<xmlChar>,
        _ cursor: UnsafePointer<xmlChar>
    ) -> TextPosition {
        let after = UnsafeBufferPointer(start: pointer, count: cursor - pointer)
        let lines = after.count { $0 == UInt8(ascii: "\n") }
        if let newline = before.lastIndex(of: UInt8(ascii: "\n")) {
            let column = scalars(before[(newline + 1)...]) + 1
            return TextPosition(line: line - lines, column: column)
        }
        if line == 1 || lines == 0 {
            // The line began before the buffer, or is the first one: count back from the cursor.
            let column = Int(input?.col ?? 1) - scalars(after)
            return TextPosition(line: line - lines, column: max(column, 1))
        }
        return TextPosition(line: line - lines, column: 1)
    }

    /// Returns the place of a byte in a text that was just read.
    ///
    /// libxml2 reports a text either before or after it moves its cursor behind the text. In both
    /// cases its line number includes the lines of the text. The exception is a CDATA section at
    /// which the cursor still stands.
    private func place(
        of offset: Int, in text: UnsafeBufferPointer<UInt8>, isCDATA: Bool
    ) -> TextPosition {
        guard let start = text.baseAddress else { return here }
        guard start == input?.cur, let column = column(before: text, isCDATA: isCDATA) else {
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
            return TextPosition(line: line, column: scalars(before[(last + 1)...]) + 1)
        }
        return TextPosition(line: line, column: column + scalars(before))
    }

    /// Returns the column of the cursor, where a text that was just read begins.
    ///
    /// If the text ended the line, libxml2's own column is already that of a later line.
    private func column(before text: UnsafeBufferPointer<UInt8>, isCDATA: Bool) -> Int? {
        guard let input, let base = input.base, let cursor = input.cur, !isCDATA,
            text.contains(UInt8(ascii: "\n"))
        else { return place(of: input?.cur)?.column }
        let before = UnsafeBufferPointer(start: base, count: cursor - base)
        if let newline = before.lastIndex(of: UInt8(ascii: "\n")) {
            return scalars(before[(newline + 1)...]) + 1
        }
        // The line began before the buffer, so its length is unknown.
        guard input.consumed == 0 else { return 1 }
        let mark = before.starts(with: [0xEF, 0xBB, 0xBF]) ? 1 : 0
        return scalars(before) + 1 - mark
    }

    /// Returns the place in the input of a text that was copied from just before the cursor.
    ///
    /// Returns nil if a reference or a line end in the text was replaced.
    private func copied(_ text: UnsafeBufferPointer<UInt8>) -> UnsafePointer<xmlChar>? {
        guard let base = input?.base, let cursor = input?.cur, cursor - base >= text.count
        else { return nil }
        let start = cursor - text.count
        return UnsafeBufferPointer(start: start, count: text.count).elementsEqual(text)
            ? start : nil
    }

    /// Returns how many characters begin in some bytes.
    private func scalars(_ bytes: some Sequence<UInt8>) -> Int {
        bytes.count { $0 & 0xC0 != 0x80 }
    }

    /// Moves the mark to an offset, and returns the place of the offset.
    ///
    /// Returns nil if the offset is before the mark, or if bytes between them have left the buffer.
    ///
    /// - Parameter before: the bytes before the offset that are still in the buffer.
    private func advanceMark(
        to offset: Int, over before: UnsafeBufferPointer<UInt8>
    ) -> TextPosition? {
        let start = before.count - (offset - mark.offset)
        guard mark.offset <= offset, start >= 0 else { return nil }
        var rest = before[start...]
        // A byte order mark is no character of the first line.
        if mark.offset == 0, rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        for byte in rest {
            if byte == UInt8(ascii: "\n") {
                mark.place = TextPosition(line: mark.place.line + 1, column: 1)
            } else if byte & 0xC0 != 0x80 {
                mark.place.column += 1
            }
        }
        mark.offset = offset
        return mark.place
    }
}

// The callbacks are plain functions, because a closure in isolated code would inherit its actor.

private func parser(_ user: UnsafeMutableRawPointer?) -> XMLPushParser? {
    user.map { Unmanaged<XMLPushParser>.fromOpaque($0).takeUnretainedValue() }
}

private func text(_ pointer: UnsafePointer<xmlChar>?) -> String? {
    pointer.map { String(cString: $0) }
}

private func startElement(
    user: UnsafeMutableRawPointer?, name: UnsafePointer<xmlChar>?, prefix: UnsafePointer<xmlChar>?,
    namespace: UnsafePointer<xmlChar>?, namespaceCount: Int32,
    namespaces: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?, attributeCount: Int32,
    defaultedCount: Int32, attributes: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?
) {
    guard let parser = parser(user), let name = text(name) else { return }
    var found: [(name: String, value: UnsafeBufferPointer<UInt8>)] = []
    if let attributes {
        // Each attribute has five pointers: name, prefix, namespace, the value's begin and its end.
        for number in 0..<Int(attributeCount) {
            let at = number * 5
            guard let name = text(attributes[at]), let begin = attributes[at + 3],
                let end = attributes[at + 4]
            else { continue }
            let qualified = text(attributes[at + 1]).map { "\($0):\(name)" } ?? name
            found.append((qualified, UnsafeBufferPointer(start: begin, count: end - begin)))
        }
    }
    parser.start(name, text(namespace), found)
}

private func endElement(
    user: UnsafeMutableRawPointer?, name: UnsafePointer<xmlChar>?, prefix: UnsafePointer<xmlChar>?,
    namespace: UnsafePointer<xmlChar>?
) {
    parser(user)?.end()
}

private func characters(
    user: UnsafeMutableRawPointer?, bytes: UnsafePointer<xmlChar>?, count: Int32
) {
    parser(user)?.add(UnsafeBufferPointer(start: bytes, count: Int(count)), isCDATA: false)
}

private func cdata(
    user: UnsafeMutableRawPointer?, bytes: UnsafePointer<xmlChar>?, count: Int32
) {
    parser(user)?.add(UnsafeBufferPointer(start: bytes, count: Int(count)), isCDATA: true)
}

private func doctype(
    user: UnsafeMutableRawPointer?, name: UnsafePointer<xmlChar>?,
    externalID: UnsafePointer<xmlChar>?, systemID: UnsafePointer<xmlChar>?
) {
    parser(user)?.refuseDoctype()
}

private func complaint(user: UnsafeMutableRawPointer?, error: xmlErrorPtr?) {
    guard let error else { return }
    parser(user)?.complain(error.pointee)
}

/// The start of an element, as the parser passes it to a dialect.
struct XMLElement {
    /// The name without prefix.
    let name: String
    /// The name of the namespace. `nil` means that the element has none.
    let namespace: String?
    /// The attributes by their names as written, with prefixes.
    ///
    /// The place of each text is where the value begins. Namespace declarations are not among the
    /// attributes.
    let attributes: [(name: String, text: Located<String>)]
    let place: TextPosition

    /// The value of an attribute without a namespace. `nil` means that it is missing.
    func attribute(_ name: String) -> Located<String>? {
        attributes.first { $0.name == name }?.text
    }
}

/// A vocabulary in XML. It gets the elements in their order, and the text of each at its end.
protocol XMLDialect: AnyObject {
    func start(_ element: XMLElement)
    /// Ends an element; `text` is the text directly inside it, without that of its children.
    func end(text: String, textAt: TextPosition, at place: TextPosition)
}

/// Finds a tag with too many attributes before libxml2 sees it.
///
/// libxml2 compares each attribute and namespace of a tag with all before it, and reports the
/// element only afterwards. The tag need not be well-formed, because libxml2 refuses such a tag.
struct XMLAttributeLimit {
    private enum State {
        case text, opened, declaration, tag, value, comment, cdata, instruction, doctype
    }

    private let most: Int
    private var state = State.text
    /// The mark that ends the value of an attribute.
    private var quote: UInt8 = 0
    /// The last bytes, which show where a comment ends, and which kind of declaration begins.
    private var recent: UInt64 = 0
    /// How many attributes the tag has so far.
    private var count = 0

    init(most: Int) { self.most = most }

    /// Reads the next chunk of a document.
    ///
    /// Returns how many of its bytes libxml2 needs to reach the `<` of a tag with too many
    /// attributes. Returns nil if there is no such tag so far.
    mutating func advance(over chunk: UnsafeBufferPointer<UInt8>) -> Int? {
        var tagStart = 0
        var at = 0
        while at < chunk.count {
            if state == .text {
                guard let open = chunk[at...].firstIndex(of: UInt8(ascii: "<")) else { return nil }
                (state, tagStart, at) = (.opened, open, open + 1)
                continue
            }
            take(chunk[at])
            at += 1
            if count > most { return min(tagStart + 2, chunk.count) }
        }
        return nil
    }

    private mutating func take(_ byte: UInt8) {
        recent = recent << 8 | UInt64(byte)
        switch state {
        case .text, .doctype: break
        case .opened:
            (recent, count) = (0, 0)
            switch byte {
            case UInt8(ascii: "!"): state = .declaration
            case UInt8(ascii: "?"): state = .instruction
            default: state = .tag
            }
        case .declaration:
            if recent == XMLAttributeLimit.number("--") {
                (state, recent) = (.comment, 0)
            } else if recent == XMLAttributeLimit.number("[CDATA[") {
                (state, recent) = (.cdata, 0)
            } else if byte != UInt8(ascii: "-"), !"[CDAT".utf8.contains(byte) {
                // libxml2 ends at a DOCTYPE, so the rest needs no check.
                state = .doctype
            }
        case .tag:
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "'"): (state, quote) = (.value, byte)
            case UInt8(ascii: "="): count += 1
            case UInt8(ascii: ">"): state = .text
            default: break
            }
        case .value: if byte == quote { state = .tag }
        case .comment: end(at: "-->")
        case .cdata: end(at: "]]>")
        case .instruction: end(at: "?>")
        }
    }

    private mutating func end(at mark: StaticString) {
        let length = UInt64(8 * mark.utf8CodeUnitCount)
        if recent & (1 << length - 1) == XMLAttributeLimit.number(mark) { state = .text }
    }

    private static func number(_ text: StaticString) -> UInt64 {
        text.withUTF8Buffer { $0.reduce(0) { $0 << 8 | UInt64($1) } }
    }
}
