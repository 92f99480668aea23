internal import MirrorModel

/// Writes a manifest as Metalink 4 (RFC 5854): the size, digests and sources of each resource.
struct MetalinkEncoder: ManifestEncoder {
    private var bytes: [UInt8] = []
    private let folder: SourceURL?

    init(folder: SourceURL?) { self.folder = folder }

    var pendingBytes: Int { bytes.count }

    mutating func take() -> [UInt8] {
        defer { bytes.removeAll(keepingCapacity: true) }
        return bytes
    }

    mutating func begin(_ manifest: Manifest) {
        bytes += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".utf8
        bytes += "<metalink xmlns=\"\(MetalinkDialect.namespace)\">\n".utf8
    }

    mutating func add(_ resource: Resource) {
        bytes += "  <file".utf8
        XMLText.appendAttribute("name", resource.target.path, to: &bytes)
        bytes += ">\n".utf8
        if let size = resource.size { bytes += "    <size>\(size)</size>\n".utf8 }
        for digest in resource.digests {
            let type = MetalinkEncoder.type(of: digest.algorithm)
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
            let url = source.url.reference(from: folder)
            XMLText.append(url, isAttribute: false, to: &bytes)
            bytes += "</url>\n".utf8
        }
        bytes += "  </file>\n".utf8
    }

    mutating func end() { bytes += "</metalink>\n".utf8 }

    /// IANA's hash function textual names.
    static func type(of algorithm: DigestAlgorithm) -> String {
        switch algorithm {
        case .md5: "md5"
        case .sha1: "sha-1"
        case .sha256: "sha-256"
        case .sha384: "sha-384"
        case .sha512: "sha-512"
        }
    }
}
