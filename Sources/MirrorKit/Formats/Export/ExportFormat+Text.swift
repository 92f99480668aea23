extension ExportFormat {
    /// Writes the text that another program reads, in constant memory: chunks of about 64 KiB.
    ///
    /// Nothing is written for a format that is a folder. Throws `ManifestError` for values that the
    /// notation cannot express.
    ///
    /// - Parameter root: the root's path.
    func write(
        _ manifest: Manifest, root: String, to sink: ([UInt8]) throws -> Void
    ) throws {
        switch self {
        case .aria2: try ManifestWriter.write(manifest, to: sink, ExportFormat.addToAria)
        case .sums: try ManifestWriter.write(manifest, to: sink, ExportFormat.addToSums)
        case .npmCache: try ExportFormat.writeNPMCommands(manifest, root: root, to: sink)
        case .metalink:
            var writer = ManifestWriter(.metalink, label: manifest.owner)
            writer.isLossy = true
            try writer.write(manifest, to: sink)
        case .wheelhouse, .bazelDistdir, .bagit, .store: break
        }
    }

    /// Writes a line of SHA256SUMS as sha256sum(1) does, with a name relative to the root.
    ///
    /// `ListKind.sums` reads such lines.
    private static func addToSums(_ resource: Resource, _ bytes: inout [UInt8]) {
        guard let sha256 = resource.digests.first(where: { $0.algorithm == .sha256 }) else {
            return
        }
        // A line whose name has escapes begins with a backslash.
        let name = resource.target.path.utf8
        let isEscaped = name.contains { [0x0A, 0x0D, UInt8(ascii: "\\")].contains($0) }
        bytes += "\(isEscaped ? "\\" : "")\(sha256.hex)  ".utf8
        for byte in name {
            switch byte {
            case 0x0A: bytes += "\\n".utf8
            case 0x0D: bytes += "\\r".utf8
            case UInt8(ascii: "\\"): bytes += "\\\\".utf8
            default: bytes.append(byte)
            }
        }
        bytes.append(0x0A)
    }

    /// Writes a file's entry in an input file of aria2 (aria2c(1), "Input File").
    ///
    /// `ListKind.aria2` reads such entries.
    private static func addToAria(_ resource: Resource, _ bytes: inout [UInt8]) {
        // aria2 sends a file's headers to all its URIs, so mirrors with other headers are left out.
        let headers = resource.primary.headers
        let sources = resource.sources.filter { $0.headers == headers && $0.url.scheme != .file }
        bytes += sources.map(\.url.requestText).joined(separator: "\t").utf8
        bytes += "\n  out=\(resource.target.path)".utf8
        if let digest = resource.digests.first {
            bytes += "\n  checksum=\(digest.algorithm.textualName)=\(digest.hex)".utf8
        }
        for header in headers {
            bytes += "\n  header=\(header.name): \(header.value.written)".utf8
        }
        bytes.append(0x0A)
    }

    /// Writes a script that adds packages to npm's cache (npm-cache(1)).
    ///
    /// `npm ci --offline` then finds the packages in the cache by their sha512.
    private static func writeNPMCommands(
        _ manifest: Manifest, root: String, to sink: ([UInt8]) throws -> Void
    ) throws {
        let start =
            "#!/bin/sh\n"
            + "# Adds packages to npm's cache; npm_config_cache=DIR names another one.\n"
            + "set -e\n"
        // A call of npm takes half a second, and a command line has room for this many paths.
        let mostInCommand = 20
        var count = 0
        try ManifestWriter.write(
            manifest, from: Array(start.utf8), to: sink,
            end: manifest.resources.isEmpty ? "" : "\n"
        ) { resource, bytes in
            if count.isMultiple(of: mostInCommand) {
                bytes += "\(count == 0 ? "" : "\n")npm cache add".utf8
            }
            count += 1
            bytes += " \((root + "/" + resource.target.path).quotedForShell)".utf8
        }
    }
}

extension Template {
    /// The text of a template, without its variables.
    fileprivate var written: String {
        pieces.map { piece in
            if case .literal(let text) = piece { text } else { "" }
        }.joined()
    }
}
