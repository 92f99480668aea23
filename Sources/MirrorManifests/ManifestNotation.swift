internal import MirrorModel

/// The notation of a manifest, found by its first bytes.
enum ManifestNotation {
    case json
    case xml
    /// A page of a web server, perhaps a directory listing.
    case html
    /// A text of lines, or TOML: no manifest, but perhaps a list.
    case text
    case compressed(Compression)
    case unknown(String)

    /// Looks at the first chunk, which may be the whole text.
    ///
    /// The decoders report the errors in it, except in a text that neither of them reads.
    init(_ chunk: [UInt8], isWhole: Bool) {
        if chunk.starts(with: [0xFE, 0xFF]) || chunk.starts(with: [0xFF, 0xFE]) {
            self = .unknown(UTF8Check.message(about: "UTF-16"))
            return
        }
        if let compression = Compression(chunk) {
            self = .compressed(compression)
            return
        }
        let text = chunk.starts(with: [0xEF, 0xBB, 0xBF]) ? chunk[3...] : chunk[...]
        let start = text.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        switch start.first {
        case UInt8(ascii: "<") where start.prefix(4).contains(0):
            self = .unknown(UTF8Check.message(about: "UTF-16 or UTF-32"))
        case UInt8(ascii: "<"): self = ManifestNotation.isHTML(start) ? .html : .xml
        case nil where isWhole:
            self = .unknown("the manifest is empty; write { \"resources\": [] }")
        case 0: self = .unknown(UTF8Check.message(about: "UTF-16 or UTF-32"))
        case UInt8(ascii: "["): self = ManifestNotation.isTOML(start) ? .text : .json
        case nil, UInt8(ascii: "{"): self = .json
        default: self = .text
        }
    }

    /// How the text is divided into words; nil if it is not a text.
    var textKind: DiagnosedText.Kind? {
        switch self {
        case .json: .json
        case .xml, .html: .xml
        case .text: .list
        case .compressed, .unknown: nil
        }
    }

    /// Whether a text begins as pages do.
    private static func isHTML(_ text: ArraySlice<UInt8>) -> Bool {
        let start = String(decoding: text.prefix(16), as: UTF8.self).lowercased()
        return ["<!doctype html", "<html", "<head", "<title", "<pre", "<h1", "<body"]
            .contains { start.hasPrefix($0) }
    }

    /// Whether a bracket opens a table's header and not an array.
    private static func isTOML(_ text: ArraySlice<UInt8>) -> Bool {
        let name = text.drop { $0 == UInt8(ascii: "[") || $0 == 0x20 }
        return name.first.map { (0x61...0x7A).contains($0 | 0x20) } ?? false
    }
}
