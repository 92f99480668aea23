extension ManifestWriter {
    /// Writes a manifest in mirror's own XML: scalar keys as attributes, the others as elements.
    static func writeXML(
        _ manifest: Manifest, folder: SourceURL?, to sink: ([UInt8]) throws -> Void
    ) throws {
        var start = Array("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".utf8)
        start += "<manifest version=\"1\"".utf8
        if let name = manifest.name { start.appendAttribute("name", name) }
        if manifest.isAtomic { start.appendAttribute("atomic", "true") }
        start += ">\n".utf8
        try write(manifest, from: start, to: sink, end: "</manifest>\n") { resource, bytes in
            bytes += "  <resource".utf8
            for key in ResourceKey.allCases {
                switch key.written(of: resource, from: folder) {
                case .text(let text)?: bytes.appendAttribute(key.rawValue, text)
                case .number(let number)?: bytes.appendAttribute(key.rawValue, "\(number)")
                case .flag?: bytes.appendAttribute(key.rawValue, "true")
                case .words(let words)?:
                    bytes.appendAttribute(key.rawValue, words.joined(separator: " "))
                case .body?, .mirrors?, .headers?, .pieces?, nil: break
                }
            }
            let elements = [ResourceKey.headers, .mirrors, .pieces, .body].flatMap { key in
                key.written(of: resource, from: folder).map { elementText(of: $0) } ?? []
            }
            bytes += elements.isEmpty ? "/>\n".utf8 : ">\n".utf8
            if !elements.isEmpty { bytes += elements + "  </resource>\n".utf8 }
        }
    }

    /// Returns the elements that a value of a resource becomes.
    ///
    /// Returns no bytes for a value that is an attribute.
    private static func elementText(of value: ResourceKey.Written) -> [UInt8] {
        var bytes: [UInt8] = []
        switch value {
        case .text, .number, .flag, .words: break
        case .headers(let headers):
            for header in headers { bytes.appendHeader(header, indentation: "    ") }
        case .mirrors(let mirrors):
            for (url, headers) in mirrors {
                bytes += "    <mirror".utf8
                bytes.appendAttribute("url", url)
                bytes += headers.isEmpty ? "/>\n".utf8 : ">\n".utf8
                for header in headers { bytes.appendHeader(header, indentation: "      ") }
                if !headers.isEmpty { bytes += "    </mirror>\n".utf8 }
            }
        case .pieces(let pieces):
            bytes += "    <pieces length=\"\(pieces.length)\">\n".utf8
            for position in 0..<pieces.count {
                let hex = Hex.encode(pieces.sha256(at: position))
                bytes += "      <sha256>\(hex)</sha256>\n".utf8
            }
            bytes += "    </pieces>\n".utf8
        case .body(let body):
            bytes += "    <body>".utf8
            bytes.appendXML(body, isAttribute: false)
            bytes += "</body>\n".utf8
        }
        return bytes
    }
}

// Text of XML 1.0 (Fifth Edition, §2.2 and §2.4): its characters, and their escapes.

extension [UInt8] {
    fileprivate mutating func appendHeader(_ header: HeaderField, indentation: String) {
        self += "\(indentation)<header".utf8
        appendAttribute("name", header.name)
        appendAttribute("value", header.value.description)
        self += "/>\n".utf8
    }

    /// Appends an attribute with a space before it.
    mutating func appendAttribute(_ name: String, _ value: String) {
        self += " \(name)=\"".utf8
        appendXML(value)
        append(UInt8(ascii: "\""))
    }

    /// Appends text in a form that no reader's normalisation changes.
    ///
    /// A reader would turn a bare CR into LF (§2.11), and white space in an attribute into spaces
    /// (§3.3.3).
    mutating func appendXML(_ text: String, isAttribute: Bool = true) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): self += "&amp;".utf8
            case UInt8(ascii: "<"): self += "&lt;".utf8
            case UInt8(ascii: ">"): self += "&gt;".utf8
            case UInt8(ascii: "\"") where isAttribute: self += "&quot;".utf8
            case 0x09 where isAttribute, 0x0A where isAttribute, 0x0D: self += "&#\(byte);".utf8
            default: append(byte)
            }
        }
    }
}

extension String {
    /// The first character that XML cannot hold, not even as a reference.
    ///
    /// `nil` means that there is none.
    var firstForbiddenInXML: Unicode.Scalar? {
        unicodeScalars.first { scalar in
            switch scalar.value {
            case 0x09, 0x0A, 0x0D: false
            case 0..<0x20, 0xFFFE, 0xFFFF: true
            default: false
            }
        }
    }

    /// The text as the value of an attribute, without quotes.
    var escapedAsXML: String {
        var bytes: [UInt8] = []
        bytes.appendXML(self)
        return String(decoding: bytes, as: UTF8.self)
    }
}
