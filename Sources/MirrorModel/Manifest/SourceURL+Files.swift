extension SourceURL {
    /// The `file:` URL of a folder, ending in `/`, to resolve references against.
    ///
    /// Nil when the path is not absolute.
    public init?(folder path: String) {
        self.init(file: path.utf8.last == UInt8(ascii: "/") ? path : path + "/")
    }

    /// The `file:` URL of a file; nil when the path is not absolute.
    public init?(file path: String) {
        guard path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) else { return nil }
        var text: [UInt8] = []
        for byte in path.utf8 {
            if PercentEncoding.isPathByte(byte) {
                text.append(byte)
            } else {
                PercentEncoding.append(byte, to: &text)
            }
        }
        self.init(
            URLAuthority(Origin(scheme: .file, host: "", port: 0)),
            pathAndQuery: String(decoding: DotSegments.remove(from: text), as: UTF8.self))
    }

    /// The path of a `file:` URL in the file system; nil for another scheme.
    public var filePath: String? {
        guard scheme == .file else { return nil }
        return String(decoding: PercentEncoding.decode(path.utf8), as: UTF8.self)
    }

    /// The last path segment, percent-decoded; nil when no file can have that name.
    public var lastSegment: String? {
        let start = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) }
        let bytes = PercentEncoding.decode(path.utf8[(start ?? path.startIndex)...])
        guard !bytes.isEmpty, bytes.count <= 255, !bytes.contains(UInt8(ascii: "/")),
            !bytes.elementsEqual(".".utf8), !bytes.elementsEqual("..".utf8),
            let name = String(validating: bytes, as: UTF8.self)
        else { return nil }
        let hasControl = name.unicodeScalars.contains {
            $0.value < 0x20 || (0x7F..<0xA0).contains($0.value)
        }
        return hasControl ? nil : name
    }
}
