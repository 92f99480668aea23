/// Reads Metalink 4 (RFC 5854): each `file` is a resource, and its `url`s are the sources.
///
/// Elements that mirror does not use (metaurl, signature, location, identity …) are skipped, as the
/// RFC asks of unknown elements. A source with a scheme that mirror does not support is skipped
/// too, with a warning.
final class MetalinkDialect: XMLDialect {
    static let namespace = "urn:ietf:params:xml:ns:metalink"

    private let builder: ManifestBuilder
    private var path: [XMLElement?] = []
    private var draft: ResourceDraft?
    private var links: [(url: Located<String>, priority: Int)] = []
    private var pieces: PiecesDraft?

    init(builder: ManifestBuilder) { self.builder = builder }

    func start(_ element: XMLElement) {
        // Elements of other namespaces, and all elements inside them, do not belong to Metalink.
        let isKnown =
            element.namespace == Self.namespace
            && (path.isEmpty || path.last.flatMap(\.self) != nil)
        path.append(isKnown ? element : nil)
        guard isKnown else { return }
        switch names {
        case ["metalink", "file"]: beginFile(element)
        case ["metalink", "file", "pieces"]: beginPieces(element)
        default: break
        }
    }

    func end(text: String, textAt: TextPosition, at place: TextPosition) {
        let names = names
        let element = path.removeLast()
        guard let element, let draft else { return }
        switch names {
        case ["metalink", "file"]:
            finish(draft)
            self.draft = nil
            return
        case ["metalink", "file", "url"]: addLink(text.trimmed, element, at: textAt)
        case ["metalink", "file", "size"]:
            if draft.resource.size != nil {
                builder.log.error(at: element.place, "a second <size>; keep one")
            }
            draft.resource.size = builder.check.size(.untyped(text.trimmed), "size", at: textAt)
        case ["metalink", "file", "hash"]:
            guard let algorithm = algorithm(of: element) else { return }
            draft.setDigest(algorithm, .untyped(text.trimmed), at: textAt)
        case ["metalink", "file", "pieces", "hash"]:
            pieces?.add(.untyped(text.trimmed), at: textAt)
        case ["metalink", "file", "pieces"]:
            if let pieces { draft.finish(pieces) }
            pieces = nil
        default: break
        }
    }

    /// The names from the root to the innermost element; empty inside a foreign element.
    private var names: [String] {
        let known = path.compactMap { $0?.name }
        return known.count == path.count ? known : []
    }

    private func beginFile(_ element: XMLElement) {
        let draft = builder.draft(at: element.place)
        links = []
        if let name = element.attribute("name") {
            let first = name.value.halves(atFirst: "/").map { String($0.before) }
            let isInArea = first.flatMap(Area.init(rawValue:)) != nil
            // An absolute path stays absolute, so that it is refused as a target.
            let isAbsolute = name.value.utf8.first == UInt8(ascii: "/")
            let path =
                isInArea || isAbsolute
                ? name.value : builder.resourceBuilder.defaults.directory + "/" + name.value
            draft.path = Located(value: path, place: name.place)
            if name.value.utf8.last == UInt8(ascii: "/") || name.value.isEmpty {
                builder.log.error(
                    at: name.place, "name \(Quoted(name.value)) is no file name; write one")
            }
        } else {
            builder.log.error(at: element.place, "a file needs a name; add name=\"…\"")
        }
        self.draft = draft
    }

    private func beginPieces(_ element: XMLElement) {
        guard algorithm(of: element) == .sha256 else {
            builder.log.warning(at: element.place, "pieces that are not sha-256 are not used")
            return
        }
        let pieces = PiecesDraft(at: element.place, builder.check)
        if let length = element.attribute("length") {
            pieces.setLength(.untyped(length.value), at: length.place)
        }
        self.pieces = pieces
    }

    private func addLink(_ text: String, _ element: XMLElement, at place: TextPosition) {
        let scheme = text.prefix { $0 != ":" }
        if scheme.count < text.count, !scheme.contains("/"),
            URLScheme(rawValue: scheme.lowercased()) == nil
        {
            builder.log.warning(
                at: place, "a source with the scheme \(Quoted(scheme, limit: 40)) is not used")
            return
        }
        var priority = Int.max
        if let written = element.attribute("priority") {
            if let number = Int(written.value), (1...999_999).contains(number) {
                priority = number
            } else {
                builder.log.error(
                    at: written.place,
                    "priority \(Quoted(written.value, limit: 40)) is not a number from 1 to 999999")
            }
        }
        links.append((Located(value: text, place: place), priority))
    }

    /// Sorts the sources by priority, the lowest number first, and ends the resource.
    private func finish(_ draft: ResourceDraft) {
        let order = links.indices.sorted { (links[$0].priority, $0) < (links[$1].priority, $1) }
        let urls = order.map { links[$0].url }
        guard let first = urls.first else {
            builder.log.error(
                at: draft.place, "the file has no url with http or https; add one")
            return
        }
        draft.url = first
        draft.mirrors = urls.dropFirst().map { MirrorDraft(at: $0.place, url: $0) }
        builder.finish(draft)
    }

    /// The algorithm that the element's `type` names (IANA's hash function textual names).
    ///
    /// `nil` means that mirror does not know this name.
    private func algorithm(of element: XMLElement) -> DigestAlgorithm? {
        let name = element.attribute("type")?.value.lowercased() ?? ""
        return DigestAlgorithm(rawValue: name.split(separator: "-").joined())
    }
}

extension ManifestEdit {
    /// Returns the additions of size and hash to a Metalink, in the order of the text.
    ///
    /// Each addition stands before the first `url` of its file, and has the white space of the text
    /// around it. Declared values stay as they are.
    func metalinkChanges(_ values: [Int: PinnedValues]) -> [TextChange] {
        var changes: [TextChange] = []
        var scanner = XMLTagScanner(bytes)
        var depth = 0
        var number = -1
        var lastChanged = -1
        var isInside = false
        while let tag = scanner.next() {
            if tag.isEnd {
                depth -= 1
                continue
            }
            if depth == 1 {
                isInside = tag.localName == "file"
                if isInside { number += 1 }
            }
            if depth == 2, isInside, tag.localName == "url", number != lastChanged,
                let value = values[number]
            {
                lastChanged = number
                changes.append(TextChange(tag.start..<tag.start, metalinkText(value, before: tag)))
            }
            if !tag.isEmpty { depth += 1 }
        }
        return changes
    }

    private func metalinkText(_ value: PinnedValues, before tag: XMLTagScanner.Tag) -> [UInt8] {
        let separator = bytes.lineStart(before: tag.start) ?? []
        let prefix = tag.name.dropLast(tag.localName.count)
        var text: [UInt8] = []
        if let size = value.size {
            text += "<\(prefix)size>\(size)</\(prefix)size>".utf8 + separator
        }
        if let sha256 = value.sha256 {
            text += "<\(prefix)hash type=\"sha-256\">\(sha256)</\(prefix)hash>".utf8
            text += separator
        }
        return text
    }
}

extension ManifestWriter {
    /// Writes a manifest as Metalink 4 (RFC 5854): the size, digests and sources of each resource.
    static func writeMetalink(
        _ manifest: Manifest, folder: SourceURL?, to sink: ([UInt8]) throws -> Void
    ) throws {
        let start =
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            + "<metalink xmlns=\"\(MetalinkDialect.namespace)\">\n"
        try write(
            manifest, from: Array(start.utf8), to: sink, end: "</metalink>\n"
        ) { resource, bytes in
            bytes += "  <file".utf8
            bytes.appendAttribute("name", resource.target.path)
            bytes += ">\n".utf8
            if let size = resource.size { bytes += "    <size>\(size)</size>\n".utf8 }
            for digest in resource.digests {
                let type = digest.algorithm.textualName
                bytes += "    <hash type=\"\(type)\">\(digest.hex)</hash>\n".utf8
            }
            if let pieces = resource.pieces {
                bytes += "    <pieces length=\"\(pieces.length)\" type=\"sha-256\">\n".utf8
                for position in 0..<pieces.count {
                    bytes += "      <hash>\(Hex.encode(pieces.sha256(at: position)))</hash>\n".utf8
                }
                bytes += "    </pieces>\n".utf8
            }
            for (position, source) in resource.sources.enumerated() {
                bytes += "    <url priority=\"\(position + 1)\">".utf8
                bytes.appendXML(source.url.reference(from: folder), isAttribute: false)
                bytes += "</url>\n".utf8
            }
            bytes += "  </file>\n".utf8
        }
    }
}

extension DigestAlgorithm {
    /// The algorithm's name in IANA's list of hash function textual names.
    var textualName: String {
        switch self {
        case .md5: "md5"
        case .sha1: "sha-1"
        case .sha256: "sha-256"
        case .sha384: "sha-384"
        case .sha512: "sha-512"
        }
    }
}
