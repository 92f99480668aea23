internal import MirrorModel

/// Writes a manifest in mirror's own XML: scalar keys as attributes, the others as elements.
struct XMLManifestEncoder: ManifestEncoder {
    private var bytes: [UInt8] = []
    private let folder: SourceURL?

    init(folder: SourceURL?) { self.folder = folder }

    var pendingBytes: Int { bytes.count }

    mutating func take() -> [UInt8] {
        defer { bytes.removeAll(keepingCapacity: true) }
        return bytes
    }

    mutating func begin(_ manifest: Manifest) {
        bytes += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<manifest version=\"1\"".utf8
        if let name = manifest.name { attribute("name", name) }
        if manifest.isAtomic { attribute("atomic", "true") }
        bytes += ">\n".utf8
    }

    mutating func add(_ resource: Resource) {
        let written = WrittenResource(resource, folder: folder)
        bytes += "  <resource".utf8
        addAttributes(written)
        let headers = resource.primary.headers
        let body: Template? = if case .post(let body) = resource.method { body } else { nil }
        guard
            !(headers.isEmpty && body == nil && written.mirrors.isEmpty && resource.pieces == nil)
        else {
            bytes += "/>\n".utf8
            return
        }
        bytes += ">\n".utf8
        for header in headers { add(header, indentation: "    ") }
        for mirror in written.mirrors { add(mirror) }
        if let pieces = resource.pieces { add(pieces) }
        if let body {
            bytes += "    <body>".utf8
            XMLText.append(body.description, isAttribute: false, to: &bytes)
            bytes += "</body>\n".utf8
        }
        bytes += "  </resource>\n".utf8
    }

    mutating func end() { bytes += "</manifest>\n".utf8 }

    private mutating func addAttributes(_ written: WrittenResource) {
        for key in ResourceKey.allCases {
            switch written.value(of: key) {
            case .text(let text)?: attribute(key.rawValue, text)
            case .number(let number)?: attribute(key.rawValue, "\(number)")
            case .flag?: attribute(key.rawValue, "true")
            case .words(let words)?: attribute(key.rawValue, words.joined(separator: " "))
            case .body?, .mirrors?, .headers?, .pieces?, nil: break
            }
        }
    }

    private mutating func add(_ header: HeaderField, indentation: String) {
        bytes += "\(indentation)<header".utf8
        attribute("name", header.name)
        attribute("value", header.value.description)
        bytes += "/>\n".utf8
    }

    private mutating func add(_ mirror: WrittenResource.Mirror) {
        bytes += "    <mirror".utf8
        attribute("url", mirror.url)
        guard !mirror.headers.isEmpty else {
            bytes += "/>\n".utf8
            return
        }
        bytes += ">\n".utf8
        for header in mirror.headers { add(header, indentation: "      ") }
        bytes += "    </mirror>\n".utf8
    }

    private mutating func add(_ pieces: Pieces) {
        bytes += "    <pieces length=\"\(pieces.length)\">\n".utf8
        for position in 0..<pieces.count {
            bytes += "      <sha256>\(Hex.encode(pieces.sha256(at: position)))</sha256>\n".utf8
        }
        bytes += "    </pieces>\n".utf8
    }

    private mutating func attribute(_ name: String, _ value: String) {
        XMLText.appendAttribute(name, value, to: &bytes)
    }
}

/// Text of XML 1.0 (Fifth Edition, §2.2 and §2.4): its characters, and their escapes.
enum XMLText {
    /// The first character that XML cannot hold, not even as a reference; nil when there is none.
    static func firstForbidden(in text: String) -> Unicode.Scalar? {
        text.unicodeScalars.first { scalar in
            switch scalar.value {
            case 0x09, 0x0A, 0x0D: false
            case 0..<0x20, 0xFFFE, 0xFFFF: true
            default: false
            }
        }
    }

    /// Appends an attribute with a space before it.
    static func appendAttribute(_ name: String, _ value: String, to bytes: inout [UInt8]) {
        bytes += " \(name)=\"".utf8
        append(value, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Text as the value of an attribute, without quotes.
    static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        append(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends text so that no reader's normalisation changes it.
    ///
    /// A reader would turn a bare CR into LF (§2.11), and white space in an attribute into spaces
    /// (§3.3.3).
    static func append(_ text: String, isAttribute: Bool = true, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes += "&amp;".utf8
            case UInt8(ascii: "<"): bytes += "&lt;".utf8
            case UInt8(ascii: ">"): bytes += "&gt;".utf8
            case UInt8(ascii: "\"") where isAttribute: bytes += "&quot;".utf8
            case 0x09 where isAttribute, 0x0A where isAttribute, 0x0D: bytes += "&#\(byte);".utf8
            default: bytes.append(byte)
            }
        }
    }
}
