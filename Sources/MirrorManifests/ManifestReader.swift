public import MirrorModel

/// A manifest that was read without errors.
public struct DecodedManifest: Sendable {
    /// The notations that a manifest can be written in.
    public enum Notation: String, Sendable, Hashable, CaseIterable {
        /// JSON.
        case json
        /// mirror's own XML.
        case xml
        /// Metalink 4 (RFC 5854).
        case metalink
    }

    /// The manifest: the resources that should be in the tree.
    public package(set) var manifest: Manifest
    /// The notation of the text.
    public let notation: Notation
    /// The doubts about it, such as weak digests; at most 20.
    public let warnings: [Diagnostic]
    /// How many more warnings there are.
    public let omittedWarnings: Int
}

/// Reads manifests: JSON, XML and Metalink 4 become one model.
///
/// The content decides the notation, not the name. Memory grows with the resources, by about 130
/// bytes for a pinned one, and not with the text.
public enum ManifestReader {
    /// Reads from an open descriptor, from its current offset to its end; the caller closes it.
    ///
    /// - Parameters:
    ///   - descriptor: a file, a pipe or a socket.
    ///   - label: the name of the manifest in diagnostics.
    ///   - origin: decides which sources the manifest may name, and to which URL its URLs are
    ///     relative.
    /// - Throws: `ManifestRefusal` with every error; `MirrorError` when the bytes cannot be read.
    public static func read(
        descriptor: Int32, label: String, origin: ManifestOrigin
    ) throws -> DecodedManifest {
        try read(ManifestBytes(descriptor: descriptor), label: label, origin: origin)
    }

    /// Reads bytes that are in memory; see the other form.
    public static func read(
        _ bytes: [UInt8], label: String, origin: ManifestOrigin
    ) throws -> DecodedManifest {
        try read(ManifestBytes(bytes), label: label, origin: origin)
    }

    /// Reads bytes that are in memory in chunks; their length does not change the result.
    package static func read(
        _ bytes: [UInt8], chunkSize: Int, label: String, origin: ManifestOrigin
    ) throws -> DecodedManifest {
        try read(ManifestBytes(bytes, chunkSize: chunkSize), label: label, origin: origin)
    }

    private static func read(
        _ bytes: ManifestBytes, label: String, origin: ManifestOrigin
    ) throws -> DecodedManifest {
        let log = DiagnosticLog(file: label)
        let builder = ManifestBuilder(log: log, origin: origin)
        do throws(DecodingStop) {
            var firstChunk: [UInt8] = []
            try bytes.next(&firstChunk)
            switch ManifestNotation(firstChunk, isWhole: firstChunk.count < bytes.firstChunkSize) {
            case .json:
                return try decoded(try decodeJSON(bytes, builder), .json)
            case .xml:
                let notation = try XMLManifestDecoder(bytes, builder: builder).decode()
                return try decoded(builder, notation)
            case .unknown(let flaw):
                log.error(at: TextPosition(), flaw)
                throw .refused
            }
        } catch .unreadable(let error) {
            throw MirrorError(error.code, "\(label.printable): \(error.message)")
        } catch .refused {
            throw log.refusal ?? ManifestRefusal(diagnostics: [], omitted: 0)
        }
    }

    /// Reads JSON, and reads it again if `base` or `defaults` came after resources.
    ///
    /// JSON gives the order of keys no meaning, and no resource may be kept until the end. So the
    /// second reading begins with the base and the defaults that the first one found.
    private static func decodeJSON(
        _ bytes: ManifestBytes, _ builder: ManifestBuilder
    ) throws(DecodingStop) -> ManifestBuilder {
        var decoder = try JSONManifestDecoder(bytes, builder: builder)
        try decoder.decode()
        guard decoder.cameTooLate else { return builder }
        let second = builder.again()
        decoder = try JSONManifestDecoder(bytes, builder: second)
        try decoder.decode()
        return second
    }

    private static func decoded(
        _ builder: ManifestBuilder, _ notation: DecodedManifest.Notation
    ) throws(DecodingStop) -> DecodedManifest {
        let manifest = builder.finish()
        guard builder.log.errorCount == 0 else { throw .refused }
        return DecodedManifest(
            manifest: manifest, notation: notation, warnings: builder.log.warnings,
            omittedWarnings: builder.log.warningCount - builder.log.warnings.count)
    }
}
