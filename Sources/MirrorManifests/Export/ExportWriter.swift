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
