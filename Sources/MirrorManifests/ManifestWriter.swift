public import MirrorModel

/// Writes manifests: one model becomes JSON, XML or Metalink 4.
///
/// If the text is read again, the model is the same. Defaults are merged, URLs are absolute (except
/// `file:` URLs beneath the manifest's folder), and notes are gone. Memory does not grow with the
/// manifest.
public struct ManifestWriter: Sendable {
    /// The notation to write.
    public var notation: DecodedManifest.Notation
    /// Whether values that the notation cannot express are left out instead of refused.
    ///
    /// A POST is never left out.
    public var isLossy = false
    /// The absolute path of the folder that the text will lie in; nil when it is not known.
    public var folder: String?
    /// The name in diagnostics of the manifest that is written: the one that it was read from.
    public var label: String

    /// A writer that refuses values that the notation cannot express.
    public init(_ notation: DecodedManifest.Notation, label: String) {
        self.notation = notation
        self.label = label
    }

    /// Finds values that the notation cannot express; returns the warnings, at most 20.
    ///
    /// Throws `ManifestRefusal`, which names each resource and key.
    @discardableResult
    public func check(_ manifest: Manifest) throws(ManifestRefusal) -> [Diagnostic] {
        let log = DiagnosticLog(file: label)
        NotationCheck(notation: notation, isLossy: isLossy, log: log).check(manifest)
        if let refusal = log.refusal { throw refusal }
        return log.warnings
    }

    /// Checks, then writes chunks of about 64 KiB; a refusal comes before the first of them.
    public func write(_ manifest: Manifest, to sink: ([UInt8]) throws -> Void) throws {
        try check(manifest)
        let base = folder.flatMap { SourceURL(folder: $0) }
        switch notation {
        case .json: try Self.write(manifest, JSONManifestEncoder(folder: base), sink)
        case .xml: try Self.write(manifest, XMLManifestEncoder(folder: base), sink)
        case .metalink: try Self.write(manifest, MetalinkEncoder(folder: base), sink)
        }
    }

    static func write(
        _ manifest: Manifest, _ encoder: some ManifestEncoder, _ sink: ([UInt8]) throws -> Void
    ) throws {
        var encoder = encoder
        encoder.begin(manifest)
        for resource in manifest.resources {
            encoder.add(resource)
            if encoder.pendingBytes >= 64 << 10 { try sink(encoder.take()) }
        }
        encoder.end()
        try sink(encoder.take())
    }
}

extension DecodedManifest.Notation {
    /// The notation that a file's extension stands for: json, xml, meta4 or metalink; else nil.
    public init?(fileName: String) {
        guard let dot = fileName.utf8.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        switch fileName[fileName.utf8.index(after: dot)...].lowercased() {
        case "json": self = .json
        case "xml": self = .xml
        case "meta4", "metalink": self = .metalink
        default: return nil
        }
    }
}
