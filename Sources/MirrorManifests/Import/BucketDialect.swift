internal import MirrorModel

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
        } else if !collector.builder.check.origin.isRemote {
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
