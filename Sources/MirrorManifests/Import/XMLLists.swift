internal import MirrorModel

/// The lists in XML, told apart by their root elements.
enum XMLLists {
    /// The format of a root element; nil if it is none that mirror reads.
    static func format(of root: XMLElement) -> ListFormat? {
        let namespace = root.namespace ?? ""
        switch root.name {
        case "metalink" where namespace == "http://www.metalinker.org/": return .metalink3
        case "ListBucketResult": return .s3
        case "repomd" where namespace == "http://linux.duke.edu/metadata/repo": return .repomd
        case "metadata" where namespace == "http://linux.duke.edu/metadata/common":
            return .rpmPrimary
        default: return nil
        }
    }

    /// What reads a document of a collector's format.
    static func dialect(of collector: ListCollector) -> any XMLDialect {
        switch collector.format {
        case .s3: BucketDialect(collector)
        case .metalink3: OldMetalinkDialect(collector)
        default: RepositoryDialect(collector)
        }
    }
}

/// A document of which the texts of some elements matter, and the rest is passed over.
///
/// The element that describes a file is the entry; its texts and attributes are collected by the
/// path of names beneath it.
class ListDialect: XMLDialect {
    let collector: ListCollector
    /// Names of the open elements, from the root.
    private(set) var path: [String] = []
    private var elements: [XMLElement] = []

    init(_ collector: ListCollector) { self.collector = collector }

    func start(_ element: XMLElement) {
        path.append(element.name)
        elements.append(element)
        opened(element)
    }

    func end(text: String, textAt: TextPosition, at place: TextPosition) {
        guard let element = elements.last else { return }
        closed(element, ListWord(value: text.trimmed, place: textAt))
        elements.removeLast()
        path.removeLast()
    }

    /// An element begins; it is the last of `path`.
    func opened(_ element: XMLElement) {}

    /// An element ends; it is still the last of `path`.
    func closed(_ element: XMLElement, _ text: ListWord) {}
}

/// An answer of S3's ListObjectsV2: each `Contents` is an object.
final class BucketDialect: ListDialect {
    private var key: ListWord?
    private var size: ListWord?
    private var isCutOff = false
    private var isEncoded = false
    private var objects: [(key: ListWord, size: ListWord?)] = []

    override func closed(_ element: XMLElement, _ text: ListWord) {
        switch path {
        case ["ListBucketResult"]: finish(at: element.place)
        case ["ListBucketResult", "EncodingType"]: isEncoded = text.value == "url"
        case ["ListBucketResult", "IsTruncated"]: isCutOff = text.value == "true"
        case ["ListBucketResult", "NextContinuationToken"]: collector.continuation = text.value
        case ["ListBucketResult", "Contents", "Key"]: key = text
        case ["ListBucketResult", "Contents", "Size"]: size = text
        case ["ListBucketResult", "Contents"]:
            if let key { objects.append((key, size)) }
            (key, size) = (nil, nil)
        default: break
        }
    }

    private func finish(at place: TextPosition) {
        for object in objects { add(object.key, object.size) }
        if !isCutOff { collector.continuation = nil }
        guard isCutOff else { return }
        if collector.continuation == nil {
            collector.log.error(
                at: place,
                "the listing is cut off and does not say how it goes on; ask for it with list-type=2"
            )
        } else if !collector.builder.origin.isRemote {
            collector.log.error(
                at: place,
                "the listing is cut off after \(Counted(objects.count, "key")); name its URL, and the"
                    + " rest is asked for too")
        }
    }

    private func add(_ key: ListWord, _ size: ListWord?) {
        var key = key
        if isEncoded {
            let spaced = key.value.parts(at: "+", keepingEmpty: true).joined(separator: "%20")
            key.value = SourceURL.decoded(spaced) ?? key.value
        }
        if key.value.utf8.last == UInt8(ascii: "/") {
            collector.note("left out: a folder's name and no file", "key", at: key.place)
            return
        }
        var entry = ListEntry(named: key)
        entry.size = size
        collector.add(entry)
    }
}

/// `repomd.xml` and `primary.xml`: each `data`, and each `package`, is a file.
final class RepositoryDialect: ListDialect {
    private var entry: ListEntry?
    private var digest: (algorithm: String, hex: ListWord)?

    private var isFile: Bool {
        path == ["repomd", "data"] || path == ["metadata", "package"]
    }

    override func opened(_ element: XMLElement) {
        if isFile {
            entry = ListEntry(at: element.place)
            digest = nil
        }
        guard path.count == 3, entry != nil else { return }
        switch element.name {
        case "location": setLocation(element)
        case "size" where path.first == "metadata":
            entry?.size = element.attribute("package").map(ListWord.init)
        default: break
        }
    }

    override func closed(_ element: XMLElement, _ text: ListWord) {
        if isFile { return finish() }
        guard path.count == 3, entry != nil else { return }
        switch element.name {
        case "checksum": digest = (element.attribute("type")?.value ?? "", text)
        case "size" where path.first == "repomd": entry?.size = text
        default: break
        }
    }

    private func setLocation(_ element: XMLElement) {
        guard let href = element.attribute("href").map(ListWord.init) else { return }
        entry?.path = href
        guard let base = element.attribute("xml:base") else { return }
        let slash = base.value.utf8.last == UInt8(ascii: "/") ? "" : "/"
        let reference = SourceURL.reference(toName: href.value).dropFirst(2)
        entry?.url = ListWord(value: base.value + slash + reference, place: base.place)
    }

    private func finish() {
        guard var entry else { return }
        self.entry = nil
        guard entry.path != nil else {
            collector.log.error(at: entry.place, "the file has no location")
            return
        }
        if let digest {
            // Older repositories call sha1 sha.
            let name = digest.algorithm == "sha" ? "sha1" : digest.algorithm
            if !entry.addDigest(name, digest.hex) {
                collector.log.error(
                    at: digest.hex.place,
                    "\(Quoted(name, limit: 40)) is no digest that mirror computes")
            }
        }
        collector.add(entry)
    }
}

/// Metalink 3: each `file` has sources with a preference, the highest first.
final class OldMetalinkDialect: ListDialect {
    private static let file = ["metalink", "files", "file"]
    private var entry: ListEntry?
    private var links: [(url: ListWord, preference: Int)] = []

    override func opened(_ element: XMLElement) {
        guard path == Self.file else { return }
        entry = ListEntry(at: element.place)
        entry?.path = element.attribute("name").map(ListWord.init)
        links = []
    }

    override func closed(_ element: XMLElement, _ text: ListWord) {
        guard path.starts(with: Self.file), entry != nil else { return }
        switch path.dropFirst(3) {
        case []: finish()
        case ["size"]: entry?.size = text
        case ["verification", "hash"]: addDigest(element, text)
        case ["resources", "url"]: addLink(element, text)
        default: break
        }
    }

    private func addDigest(_ element: XMLElement, _ text: ListWord) {
        let name = element.attribute("type")?.value ?? ""
        if entry?.addDigest(name, text) == false {
            collector.noteUnknownDigest(name, at: element.place)
        }
    }

    private func addLink(_ element: XMLElement, _ text: ListWord) {
        let kind = element.attribute("type")?.value ?? "http"
        guard ["http", "https"].contains(kind), collector.speaks(text) else {
            if kind != "http", kind != "https" {
                collector.note(
                    "left out: of type \(Quoted(kind, limit: 40))", "source", at: element.place)
            }
            return
        }
        links.append((text, element.attribute("preference").flatMap { Int($0.value) } ?? 0))
    }

    private func finish() {
        guard var entry else { return }
        self.entry = nil
        let order = links.indices.sorted {
            (-links[$0].preference, $0) < (-links[$1].preference, $1)
        }
        guard let first = order.first else {
            collector.log.error(at: entry.place, "the file has no url with http or https")
            return
        }
        entry.url = links[first].url
        entry.mirrors = order.dropFirst().map { links[$0].url }
        collector.add(entry)
    }
}

extension Located<String> {
    /// An attribute's value.
    fileprivate init(_ attribute: XMLAttribute) {
        self.init(value: attribute.value, place: attribute.place)
    }
}
