extension ListKind {
    /// An S3 listing: an answer of ListObjectsV2, or of the older ListObjects.
    static var s3: ListKind {
        ListKind(
            "an S3 listing", "XML", .dialect { BucketDialect($0) }, .root("ListBucketResult"),
            base: { url in
                if url.scheme == .s3 { return url.bucket }
                return url.beside("/." + url.path + (url.path.utf8.last == 0x2F ? "" : "/"))
            })
    }
}

/// Reads an S3 listing, in which each `Contents` element is an object.
private final class BucketDialect: ListDialect {
    private var key: ListWord?
    private var size: ListWord?
    private var isCutOff = false
    private var isEncoded = false
    /// `token`: the token that the next request sends.
    ///
    /// `marker`: the key behind which the next page begins.
    private var token: String?
    private var marker: String?
    /// Whether ListObjects answered. The next page of a ListObjects answer begins behind a key.
    private var hasMarker = false
    private var objects: [(key: ListWord, size: ListWord?)] = []
    private var prefixes: [ListWord] = []

    override func closed(_ element: XMLElement, _ text: ListWord) {
        switch path {
        case ["ListBucketResult"]: finish(at: element.place)
        case ["ListBucketResult", "EncodingType"]: isEncoded = text.value == "url"
        case ["ListBucketResult", "IsTruncated"]: isCutOff = text.value == "true"
        case ["ListBucketResult", "NextContinuationToken"]: token = text.value
        case ["ListBucketResult", "Marker"]: hasMarker = true
        case ["ListBucketResult", "NextMarker"]: marker = text.value
        case ["ListBucketResult", "CommonPrefixes", "Prefix"]: prefixes.append(text)
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
        for prefix in prefixes {
            collector.leaveOut(
                prefix.with(decoded(prefix.value)),
                "a prefix with more keys beneath it; ask for the listing without a delimiter")
        }
        if isCutOff { goOn(at: place) }
    }

    /// Sets the URL of the next page. Logs an error if the URL is unknown.
    private func goOn(at place: TextPosition) {
        guard case .url(let url) = collector.builder.check.origin else {
            collector.log.error(
                at: place,
                "the listing is cut off after \(Counted(objects.count, "key")); name its URL, and the"
                    + " rest is asked for too")
            return
        }
        // If an answer of ListObjects names no marker, the next page begins behind its last key.
        let behind = hasMarker ? (marker ?? objects.last?.key.value).map(decoded) : nil
        let next = token.map { ("continuation-token", $0) } ?? behind.map { ("marker", $0) }
        guard let (name, value) = next else {
            collector.log.error(
                at: place,
                "the listing is cut off and does not say how it goes on; ask for it with list-type=2"
            )
            return
        }
        let others = (url.query ?? "").split(separator: "&").filter { !$0.hasPrefix(name + "=") }
        let query = (others + [name + "=" + SourceURL.queryValue(value)[...]])
            .joined(separator: "&")
        do throws(SourceURLError) {
            collector.parts.append(.page(try SourceURL("?" + query, relativeTo: url)))
        } catch {
            collector.log.error(
                at: place, "the rest of the listing has no usable URL: \(error.reason)")
        }
    }

    private func add(_ key: ListWord, _ size: ListWord?) {
        let key = key.with(decoded(key.value))
        if key.value.utf8.last == UInt8(ascii: "/") {
            collector.note("left out: a folder's name and no file", "key", at: key.place)
            return
        }
        var entry = ListEntry(named: key)
        entry.size = size
        collector.add(entry)
    }

    /// Decodes the escapes that `encoding-type=url` puts into a key.
    private func decoded(_ key: String) -> String {
        guard isEncoded else { return key }
        let spaced = key.parts(at: "+", keepingEmpty: true).joined(separator: "%20")
        return SourceURL.decoded(spaced) ?? key
    }
}

/// The base of the dialects of lists, in which only some elements matter.
///
/// Each file has an element, the entry. A dialect recognises the texts and attributes of an entry
/// by the path of element names.
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

    /// An element begins. The element is the last one of `path`.
    func opened(_ element: XMLElement) {}

    /// An element ends. The element is still the last one of `path`.
    func closed(_ element: XMLElement, _ text: ListWord) {}
}
