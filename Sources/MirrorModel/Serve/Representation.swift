/// The bytes of a served file: one version, named by its digest (RFC 9110 §3.2).
package struct Representation: Sendable, Hashable {
    /// The size in bytes.
    package var size: Int64
    /// The sha256 of the bytes.
    package var sha256: Digest
    /// The modification time, in seconds.
    package var modified: HTTPDate
    /// The media type, as the source sent it or as the name's extension tells.
    package var mediaType: String
    /// Whether the URL names these bytes only, because their digest is in it.
    package var isNamedByDigest = false

    package init(size: Int64, sha256: Digest, modified: HTTPDate, mediaType: String) {
        self.size = size
        self.sha256 = sha256
        self.modified = modified
        self.mediaType = mediaType
    }

    /// The strong entity tag: the digest.
    package var entityTag: String { "\"\(sha256.hex)\"" }

    /// The media type of files with this extension; nil where no browser needs one.
    package static func mediaType(ofExtension name: String) -> String? { mediaTypes[name] }

    private static let mediaTypes: [String: String] = [
        "html": "text/html", "htm": "text/html", "css": "text/css", "js": "text/javascript",
        "mjs": "text/javascript", "json": "application/json", "geojson": "application/geo+json",
        // Without the encoding, browsers take these for Windows-1252.
        "txt": "text/plain; charset=utf-8", "md": "text/markdown; charset=utf-8",
        "csv": "text/csv; charset=utf-8", "xml": "application/xml",
        "svg": "image/svg+xml", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg",
        "gif": "image/gif", "webp": "image/webp", "ico": "image/x-icon", "pdf": "application/pdf",
        "wasm": "application/wasm", "woff2": "font/woff2", "mp4": "video/mp4",
        "webm": "video/webm", "mov": "video/quicktime", "mp3": "audio/mpeg", "m4a": "audio/mp4",
        "ogg": "audio/ogg", "opus": "audio/ogg", "flac": "audio/flac", "wav": "audio/wav",
        "avif": "image/avif", "woff": "font/woff",
    ]
}
