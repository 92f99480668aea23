internal import MirrorManifests
internal import MirrorModel
internal import MirrorSystem

/// The tag files of a BagIt bag (RFC 8493 §2).
struct Bag {
    private let now: Instant
    private var payload: [UInt8] = []
    private var bytes: Int64 = 0
    private var count = 0

    init(now: Instant) { self.now = now }

    /// Takes a file of the payload, whose name begins with `data/`.
    mutating func add(_ copy: ExportedCopy) {
        payload += Bag.line(copy.record.sha256.hex, copy.name)
        bytes += copy.record.stamp.size
        count += 1
    }

    /// The tag files by their names; the list of their digests is last.
    var files: [(name: String, text: [UInt8])] {
        let declaration = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
        let date = now.rfc3339.prefix(10)
        let about = """
            Bag-Software-Agent: mirror \(MirrorVersion.current)
            Bagging-Date: \(date)
            Payload-Oxum: \(bytes).\(count)

            """
        let files = [
            ("bagit.txt", Array(declaration.utf8)), ("bag-info.txt", Array(about.utf8)),
            ("manifest-sha256.txt", payload),
        ]
        var tags: [UInt8] = []
        for (name, text) in files {
            var hasher = ByteHasher(.sha256)
            text.withUnsafeBytes { hasher.update($0) }
            tags += Bag.line(hasher.finish().hex, name)
        }
        return files + [("tagmanifest-sha256.txt", tags)]
    }

    private static func line(_ hex: String, _ name: String) -> String.UTF8View {
        "\(hex)  \(BagEscapes.encoded(name))\n".utf8
    }
}
