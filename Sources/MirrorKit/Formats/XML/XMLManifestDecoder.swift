/// Reads a manifest in XML: mirror's own vocabulary, or Metalink 4, by the root element.
///
/// Lists of other programs in XML are read here too. The decoder passes all elements to the
/// vocabulary.
final class XMLManifestDecoder: XMLDialect {
    private let builder: ManifestBuilder
    private let hint: ListHint
    private var dialect: (any XMLDialect)?
    private var hasRoot = false
    /// The notation of the manifest. `nil` means that the document is a list.
    private(set) var notation: DecodedManifest.Notation?
    /// The list of another program. `nil` means that the document is a manifest.
    private(set) var list: ListCollector?

    init(builder: ManifestBuilder, hint: ListHint) {
        (self.builder, self.hint) = (builder, hint)
    }

    /// Reads the whole document. Throws if the rest of the document cannot be read.
    func decode(_ bytes: ManifestBytes) throws(DecodingStop) {
        var chunk: [UInt8] = []
        bytes.rewind()
        try bytes.next(&chunk)
        if let encoding = XMLManifestDecoder.otherEncoding(chunk) {
            builder.log.error(
                at: TextPosition(), UTF8Check.message(about: encoding))
            throw .refused
        }
        try XMLPushParser(log: builder.log, dialect: self).parse(bytes)
        if dialect == nil { throw .refused }
    }

    /// Returns the encoding that an XML declaration names.
    ///
    /// Returns nil if it is UTF-8 or ASCII, or if the text names none.
    private static func otherEncoding(_ chunk: [UInt8]) -> String? {
        let head = String(decoding: chunk.prefix(200), as: UTF8.self)
        guard let end = head.firstRange(of: "?>"), let mark = head.firstRange(of: "encoding"),
            mark.upperBound < end.lowerBound
        else { return nil }
        let quoted = head[mark.upperBound...].drop { "= \t\r\n".contains($0) }
        guard let quote = quoted.first else { return nil }
        let name = quoted.dropFirst().prefix { $0 != quote }
        return ["utf-8", "us-ascii", "utf8", "ascii"].contains(name.lowercased())
            ? nil : Escaped(name, limit: 40).description
    }

    func start(_ element: XMLElement) {
        if !hasRoot {
            hasRoot = true
            open(element)
        }
        dialect?.start(element)
    }

    func end(text: String, textAt: TextPosition, at place: TextPosition) {
        dialect?.end(text: text, textAt: textAt, at: place)
    }

    private func open(_ root: XMLElement) {
        if root.name == "metalink", root.namespace == MetalinkDialect.namespace {
            dialect = MetalinkDialect(builder: builder)
            notation = .metalink
        } else if root.name == "manifest" {
            dialect = XMLManifestDialect(builder: builder)
            notation = .xml
        } else if let format = ListReader.format(ofRoot: root),
            hint.format ?? format == format, case .dialect(let make) = format.kind.reader
        {
            let collector = ListCollector(format, builder: builder, hint: hint)
            dialect = make(collector)
            list = collector
        } else if let wanted = hint.format {
            let name = Escaped(root.name, limit: 40)
            builder.log.error(
                at: root.place, "the root is <\(name)>, so this is not \(wanted.kind.title)")
        } else {
            builder.log.error(at: root.place, XMLManifestDecoder.advice(on: root))
        }
    }

    private static func advice(on element: XMLElement) -> String {
        if element.name == "metalink" {
            return "this is neither Metalink 4 nor 3; write"
                + " <metalink xmlns=\"\(MetalinkDialect.namespace)\">"
        }
        if let foreign = ForeignList.shown(byRoot: element.name) { return foreign.refusal }
        return "the root is <\(Escaped(element.name, limit: 40))>; write <manifest> or <metalink>;"
            + " <repomd>, <metadata> and <ListBucketResult> are the lists in XML that mirror reads"
    }
}

/// Reads mirror's own vocabulary in XML: scalar keys are attributes, the others elements.
final class XMLManifestDialect: XMLDialect {
    private enum Place {
        case manifest, defaults, resource, mirror, header, pieces, body, digest
        /// Inside an element that belongs to other programs, or that was refused as a whole.
        case ignored
    }

    private enum HeaderKey: String, ManifestKey {
        case name, value
        static let place = "a header"
    }

    private let builder: ManifestBuilder
    private var places: [Place] = []
    private var draft: ResourceDraft?
    private var mirror: MirrorDraft?
    private var pieces: PiecesDraft?
    private var defaultHeaders = HeaderList()
    private var defaultsPlace = TextPosition()
    private var hasDefaults = false
    private var hasResources = false

    init(builder: ManifestBuilder) { self.builder = builder }

    func start(_ element: XMLElement) {
        guard let outer = places.last else {
            places.append(.manifest)
            setTop(element)
            return
        }
        let place = place(of: element.name, in: outer)
        if let place {
            places.append(place)
            begin(element, in: place, inside: outer)
            return
        }
        places.append(.ignored)
        if outer != .ignored, !element.name.isForeignKey, element.namespace == nil {
            refuse(element, in: outer)
        }
    }

    func end(text: String, textAt: TextPosition, at place: TextPosition) {
        let ended = places.removeLast()
        switch ended {
        case .resource:
            if let draft { builder.finish(draft) }
            draft = nil
        case .mirror:
            if let mirror { draft?.mirrors.append(mirror) }
            mirror = nil
        case .pieces:
            if let pieces, let draft { draft.finish(pieces) }
            pieces = nil
        case .body:
            draft?.set(.body, .untyped(text), at: textAt)
            return
        case .digest:
            pieces?.add(.untyped(text.trimmed), at: textAt)
            return
        case .ignored: return
        case .defaults: builder.setDefault(headers: defaultHeaders, at: defaultsPlace)
        case .manifest, .header: break
        }
        if !text.trimmed.isEmpty {
            builder.log.error(
                at: textAt, "the text \(Quoted(text.trimmed, limit: 40)) stands outside a value")
        }
    }

    private func place(of name: String, in outer: Place) -> Place? {
        switch (outer, name) {
        case (.manifest, "defaults"): .defaults
        case (.manifest, "resource"): .resource
        case (.defaults, "header"), (.resource, "header"), (.mirror, "header"): .header
        case (.resource, "mirror"): .mirror
        case (.resource, "body"): .body
        case (.resource, "pieces"): .pieces
        case (.pieces, "sha256"): .digest
        default: nil
        }
    }

    private func begin(_ element: XMLElement, in place: Place, inside outer: Place) {
        switch place {
        case .defaults:
            if hasDefaults {
                builder.log.error(at: element.place, "a second <defaults>; keep one")
            } else if hasResources {
                builder.log.error(
                    at: element.place, "<defaults> after a resource; put it before the first")
            }
            hasDefaults = true
            defaultsPlace = element.place
            each(of: element, DefaultsKey.self, except: [.headers]) { dialect, key, value, at in
                dialect.builder.setDefault(key, value, at: at)
            }
        case .resource:
            hasResources = true
            draft = builder.draft(at: element.place)
            each(of: element, ResourceKey.self, except: [.headers, .mirrors, .body, .pieces]) {
                dialect, key, value, at in
                dialect.draft?.set(key, value, at: at)
            }
        case .mirror:
            mirror = MirrorDraft(at: element.place)
            each(of: element, MirrorKey.self, except: [.headers]) { dialect, _, value, at in
                dialect.mirror?.url = dialect.builder.check.text(value, "url", at: at)
                    .map { Located(value: $0, place: at) }
            }
        case .header: addHeader(element, inside: outer)
        case .pieces:
            if draft?.pieces != nil {
                builder.log.error(at: element.place, "a second <pieces>; keep one")
            }
            pieces = PiecesDraft(at: element.place, builder.check)
            each(of: element, PiecesKey.self, except: [.sha256]) { dialect, _, value, at in
                dialect.pieces?.setLength(value, at: at)
            }
        case .body:
            if draft?.body != nil {
                builder.log.error(at: element.place, "a second <body>; keep one")
            }
            noAttributes(element)
        case .digest: noAttributes(element)
        case .manifest, .ignored: break
        }
    }

    private func setTop(_ element: XMLElement) {
        each(of: element, TopKey.self, except: [.defaults, .resources]) { dialect, key, value, at in
            dialect.builder.set(key, value, at: at)
        }
    }

    private func addHeader(_ element: XMLElement, inside outer: Place) {
        each(of: element, HeaderKey.self, except: []) { _, _, _, _ in }
        guard let name = element.attribute("name"), let value = element.attribute("value") else {
            builder.log.error(
                at: element.place,
                "a header needs a name and a value: <header name=\"…\" value=\"…\"/>"
            )
            return
        }
        let add = { (headers: inout HeaderList) in
            self.builder.check.addHeader(
                name.value, .untyped(value.value), to: &headers, nameAt: name.place,
                valueAt: value.place)
        }
        switch outer {
        case .defaults: add(&defaultHeaders)
        case .mirror: if let mirror { add(&mirror.headers) }
        default: if let draft { add(&draft.headers) }
        }
    }

    private func noAttributes(_ element: XMLElement) {
        for (name, text) in element.attributes where !name.isForeignKey {
            builder.log.error(
                at: text.place, "<\(element.name)> has no attribute \(Quoted(name))")
        }
    }

    /// Calls `body` with each attribute that the place has. Logs an error for each other attribute.
    private func each<Key: ManifestKey>(
        of element: XMLElement, _: Key.Type, except elements: Set<Key>,
        _ body: (XMLManifestDialect, Key, WrittenValue, TextPosition) -> Void
    ) {
        for attribute in element.attributes {
            guard let key = Key(rawValue: attribute.name) else {
                if !attribute.name.isForeignKey {
                    builder.log.error(
                        at: attribute.text.place,
                        Key.message(
                            about: attribute.name, attribute.text.value, as: "attribute"))
                }
                continue
            }
            if elements.contains(key) {
                builder.log.error(
                    at: attribute.text.place,
                    "\(Quoted(attribute.name)) is no attribute in XML; write"
                        + " \(XMLManifestDialect.elementForm(of: attribute.name))")
            } else {
                body(self, key, .untyped(attribute.text.value), attribute.text.place)
            }
        }
    }

    private static func elementForm(of key: String) -> String {
        switch key {
        case "headers": "<header name=\"…\" value=\"…\"/>"
        case "mirrors": "<mirror url=\"…\"/>"
        case "resources": "a <resource …/> for each"
        case "pieces": "<pieces length=\"…\"><sha256>…</sha256></pieces>"
        default: "<\(key)>…</\(key)>"
        }
    }

    private func refuse(_ element: XMLElement, in outer: Place) {
        let names: [String] =
            switch outer {
            case .manifest: ["defaults", "resource"]
            case .defaults, .mirror: ["header"]
            case .resource: ["header", "mirror", "body", "pieces"]
            case .pieces: ["sha256"]
            default: []
            }
        let suggestion = NearestName.suggestion(for: element.name, among: names).map { "<\($0)>?" }
        let isKey = ResourceKey(rawValue: element.name) != nil && outer == .resource
        let advice =
            isKey
            ? "write it as an attribute: \(element.name)=\"…\""
            : suggestion ?? (names.isEmpty ? "remove it" : "begin it with x- to keep a note")
        builder.log.error(
            at: element.place, "an element <\(Escaped(element.name, limit: 40))> here; \(advice)")
    }
}

extension String {
    /// The text without white space of XML at its ends.
    var trimmed: String {
        let isSpace = { (scalar: Unicode.Scalar) in [0x20, 0x09, 0x0A, 0x0D].contains(scalar.value)
        }
        let start = unicodeScalars.drop(while: isSpace)
        guard let last = start.lastIndex(where: { !isSpace($0) }) else { return "" }
        return String(start[...last])
    }
}
