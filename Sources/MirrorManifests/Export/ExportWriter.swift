package import MirrorModel

/// Writes the text that another program reads, in constant memory.
package struct ExportWriter {
    private let format: ExportFormat
    private let root: String

    /// Takes a format that is a text, and the root's path.
    package init(_ format: ExportFormat, root: String) {
        self.format = format
        self.root = root
    }

    /// Writes chunks of about 64 KiB. Throws `ManifestRefusal` for what the notation cannot hold.
    package func write(_ manifest: Manifest, to sink: ([UInt8]) throws -> Void) throws {
        switch format {
        case .aria2: try ManifestWriter.write(manifest, AriaEncoder(), sink)
        case .sums: try ManifestWriter.write(manifest, SumsEncoder(), sink)
        case .npmCache: try ManifestWriter.write(manifest, NPMCacheEncoder(root: root), sink)
        case .metalink:
            var writer = ManifestWriter(.metalink, label: manifest.owner)
            writer.isLossy = true
            try writer.write(manifest, to: sink)
        case .wheelhouse, .bazelDistdir, .bagit: break
        }
    }
}

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

/// Writes a script that adds packages to npm's cache (npm-cache(1)), from which `npm ci --offline` takes
/// them by their sha512.
struct NPMCacheEncoder: ManifestEncoder {
    private var bytes: [UInt8] = []
    private var count = 0
    /// The root's path.
    private let root: String

    /// A call of npm takes half a second, and a command line has room for this many paths.
    private static let mostInCommand = 20

    init(root: String) { self.root = root }

    var pendingBytes: Int { bytes.count }

    mutating func take() -> [UInt8] {
        defer { bytes.removeAll(keepingCapacity: true) }
        return bytes
    }

    mutating func begin(_ manifest: Manifest) {
        bytes += "#!/bin/sh\n".utf8
        bytes += "# Adds packages to npm's cache; npm_config_cache=DIR names another one.\n".utf8
        bytes += "set -e\n".utf8
    }

    mutating func add(_ resource: Resource) {
        if count.isMultiple(of: NPMCacheEncoder.mostInCommand) {
            bytes += "\(count == 0 ? "" : "\n")npm cache add".utf8
        }
        count += 1
        bytes += " \((root + "/" + resource.target.path).quotedForShell)".utf8
    }

    mutating func end() { if count > 0 { bytes.append(0x0A) } }
}
