internal import MirrorModel

/// Reads a manifest in XML: mirror's own vocabulary, or Metalink 4, by the root element.
struct XMLManifestDecoder {
    private let bytes: ManifestBytes
    private let builder: ManifestBuilder

    init(_ bytes: ManifestBytes, builder: ManifestBuilder) {
        self.bytes = bytes
        self.builder = builder
    }

    /// Reads the whole document; throws if the rest of it cannot be read.
    func decode() throws(DecodingStop) -> DecodedManifest.Notation {
        var chunk: [UInt8] = []
        bytes.rewind()
        try bytes.next(&chunk)
        if let encoding = XMLManifestDecoder.otherEncoding(chunk) {
            builder.log.error(
                at: TextPosition(), JSONFlaw.otherEncoding(encoding).description)
            throw .refused
        }
        let root = RootDialect(builder: builder)
        try XMLPushParser(log: builder.log, dialect: root).parse(bytes)
        guard let notation = root.notation else { throw .refused }
        return notation
    }

    /// The encoding that an XML declaration names; nil when it is UTF-8 or a part of it.
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
}

/// Selects the vocabulary of a document by its root element, and passes all elements on to it.
private final class RootDialect: XMLDialect {
    private let builder: ManifestBuilder
    private var dialect: (any XMLDialect)?
    private var hasRoot = false
    private(set) var notation: DecodedManifest.Notation?

    init(builder: ManifestBuilder) { self.builder = builder }

    func start(_ element: XMLElement) {
        if !hasRoot {
            hasRoot = true
            if element.name == "metalink", element.namespace == MetalinkDialect.namespace {
                (dialect, notation) = (MetalinkDialect(builder: builder), .metalink)
            } else if element.name == "manifest" {
                (dialect, notation) = (XMLManifestDialect(builder: builder), .xml)
            } else {
                builder.log.error(at: element.place, RootDialect.advice(on: element))
            }
        }
        dialect?.start(element)
    }

    func end(text: String, textAt: TextPosition, at place: TextPosition) {
        dialect?.end(text: text, textAt: textAt, at: place)
    }

    private static func advice(on element: XMLElement) -> String {
        if element.name == "metalink" {
            return "this is no Metalink 4; write <metalink xmlns=\"\(MetalinkDialect.namespace)\">"
        }
        return "the root is <\(Escaped(element.name, limit: 40))>; write <manifest> or <metalink>"
    }
}
