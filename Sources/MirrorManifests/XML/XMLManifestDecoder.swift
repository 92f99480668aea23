internal import MirrorModel

/// Reads a manifest in XML: mirror's own vocabulary, or Metalink 4, by the root element.
///
/// Lists of other programs in XML come in here too.
struct XMLManifestDecoder {
    /// The kind of the document.
    enum Finding {
        case manifest(DecodedManifest.Notation)
        case list(ListCollector)
    }

    private let bytes: ManifestBytes
    private let builder: ManifestBuilder
    private let hint: ListHint

    init(_ bytes: ManifestBytes, builder: ManifestBuilder, hint: ListHint) {
        self.bytes = bytes
        self.builder = builder
        self.hint = hint
    }

    /// Reads the whole document; throws if the rest of it cannot be read.
    func decode() throws(DecodingStop) -> Finding {
        var chunk: [UInt8] = []
        bytes.rewind()
        try bytes.next(&chunk)
        if let encoding = XMLManifestDecoder.otherEncoding(chunk) {
            builder.log.error(
                at: TextPosition(), UTF8Check.message(about: encoding))
            throw .refused
        }
        let root = RootDialect(builder: builder, hint: hint)
        try XMLPushParser(log: builder.log, dialect: root).parse(bytes)
        guard let finding = root.finding else { throw .refused }
        return finding
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
    private let hint: ListHint
    private var dialect: (any XMLDialect)?
    private var hasRoot = false
    private(set) var finding: XMLManifestDecoder.Finding?

    init(builder: ManifestBuilder, hint: ListHint) {
        (self.builder, self.hint) = (builder, hint)
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
            finding = .manifest(.metalink)
        } else if root.name == "manifest" {
            dialect = XMLManifestDialect(builder: builder)
            finding = .manifest(.xml)
        } else if let format = XMLLists.format(of: root), hint.format ?? format == format {
            let collector = ListCollector(format, builder: builder, hint: hint)
            dialect = XMLLists.dialect(of: collector)
            finding = .list(collector)
        } else if let wanted = hint.format {
            let name = Escaped(root.name, limit: 40)
            builder.log.error(
                at: root.place, "the root is <\(name)>, so this is not \(wanted.title)")
        } else {
            builder.log.error(at: root.place, RootDialect.advice(on: root))
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
