internal import MirrorModel

/// Writes SHA256SUMS as sha256sum(1) does, with names relative to the root; `SumsList` reads it.
struct SumsEncoder: ManifestEncoder {
    private var bytes: [UInt8] = []

    var pendingBytes: Int { bytes.count }

    mutating func take() -> [UInt8] {
        defer { bytes.removeAll(keepingCapacity: true) }
        return bytes
    }

    mutating func begin(_ manifest: Manifest) {}

    mutating func add(_ resource: Resource) {
        guard let sha256 = resource.digests.first(where: { $0.algorithm == .sha256 }) else {
            return
        }
        let name = resource.target.path
        let escaped = SumsEscapes.escaped(name)
        bytes += "\(escaped == nil ? "" : "\\")\(sha256.hex)  \(escaped ?? name)\n".utf8
    }

    mutating func end() {}
}
