internal import CXML2
internal import MirrorModel
internal import MirrorSystem

/// A push parser over libxml2's SAX2 interface (xmlCreatePushParserCtxt, xmlParseChunk).
///
/// A DOCTYPE is refused at its first event, before any declaration in it is read: no entity but the
/// predefined ones can exist, so none can be expanded and nothing can be fetched. libxml2's own
/// limits (10 MB for a text, XML_PARSE_HUGE is off) stay in force above the ones here.
final class XMLPushParser {
    /// How many elements may be open at once.
    static let deepest = 64
    /// How many attributes an element may have, its namespaces included: libxml2 compares them all
    /// with each other.
    static let mostAttributes = 256
    /// The greatest length of a text or an attribute in bytes.
    static let longestText = 1 << 20

    /// The tables of libxml2, which several threads must not make at once (xmlInitParser).
    static let prepareLibrary: Void = xmlInitParser()

    private let log: DiagnosticLog
    private let dialect: any XMLDialect
    private var context: xmlParserCtxtPtr?
    private var texts: [(bytes: [UInt8], place: TextPosition?)] = []
    private var isStopped = false
    private let mark = XMLMark()

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
                    at: XMLCursor(context, mark).here)
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
        let cursor = XMLCursor(context, mark)
        let place = cursor.elementStart
        guard texts.count < Self.deepest else {
            stop("more than \(Self.deepest) levels of elements", at: place)
            return
        }
        // Blanks between elements are no text, and a million elements have very many of them.
        if let outer = texts.last, outer.place == nil {
            texts[texts.count - 1].bytes.removeAll(keepingCapacity: true)
        }
        texts.append(([], nil))
        dialect.start(
            XMLElement(
                name: name, namespace: namespace,
                attributes: attributes.map {
                    XMLAttribute(
                        name: $0.name, value: String(decoding: $0.value, as: UTF8.self),
                        place: cursor.place(of: $0.value.baseAddress) ?? place)
                },
                place: place))
        if attributes.contains(where: { $0.value.count > Self.longestText }) {
            stop(JSONTokenizer.longTextMessage, at: place)
        }
    }

    fileprivate func end() {
        guard !isStopped, let text = texts.popLast() else { return }
        let place = XMLCursor(context, mark).here
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
            texts[last].place = XMLCursor(context, mark).place(
                of: first, in: bytes, isCDATA: isCDATA)
        }
        texts[last].bytes += bytes
        if texts[last].bytes.count > Self.longestText {
            stop(JSONTokenizer.longTextMessage, at: XMLCursor(context, mark).here)
        }
    }

    fileprivate func refuseDoctype() {
        stop("a DOCTYPE; remove it", at: XMLCursor(context, mark).elementStart)
    }

    fileprivate func complain(_ error: xmlError) {
        // Warnings are ignored. Complaints about namespaces are errors of a manifest all the same.
        guard error.level.rawValue >= XML_ERR_ERROR.rawValue else { return }
        if error.code == XML_ERR_DOCUMENT_END.rawValue, !texts.isEmpty {
            stop(
                "the document ends inside \(texts.count) open elements; was it cut off?",
                at: XMLCursor(context, mark).here)
            return
        }
        let message = error.message.map { String(cString: $0) } ?? "not well-formed"
        let line = message.split(separator: "\n").first.map(String.init) ?? message
        stop(
            "not well-formed XML: \(Escaped(line, limit: 200))",
            at: TextPosition(line: max(Int(error.line), 1), column: max(Int(error.int2), 1)))
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
        // Five pointers each: name, prefix, namespace, the value's begin and its end.
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
