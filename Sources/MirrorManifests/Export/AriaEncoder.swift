internal import MirrorModel

/// Writes the input file of aria2 (aria2c(1), "Input File"), which `AriaList` reads.
struct AriaEncoder: ManifestEncoder {
    private var bytes: [UInt8] = []

    var pendingBytes: Int { bytes.count }

    mutating func take() -> [UInt8] {
        defer { bytes.removeAll(keepingCapacity: true) }
        return bytes
    }

    mutating func begin(_ manifest: Manifest) {}

    mutating func add(_ resource: Resource) {
        // Its headers go to all URIs of a file, so mirrors that are sent other ones are left out.
        let headers = resource.primary.headers
        let sources = resource.sources.filter { $0.headers == headers && $0.url.scheme != .file }
        bytes += sources.map(\.url.requestText).joined(separator: "\t").utf8
        option("out", resource.target.path)
        if let digest = resource.digests.first {
            option("checksum", MetalinkEncoder.type(of: digest.algorithm) + "=" + digest.hex)
        }
        for header in headers { option("header", header.name + ": " + header.value.written) }
        bytes.append(0x0A)
    }

    mutating func end() {}

    private mutating func option(_ name: String, _ value: String) {
        bytes += "\n  \(name)=\(value)".utf8
    }
}

extension Template {
    /// The text of a template without variables.
    fileprivate var written: String {
        pieces.map { piece in
            if case .literal(let text) = piece { text } else { "" }
        }.joined()
    }
}
