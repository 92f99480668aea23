internal import MirrorModel

/// The texts in a tar archive that together are a list: APKINDEX, or `desc` of each package.
enum TarText {
    private static let block = 512

    /// The texts with blank lines between them; nil if the bytes are no tar archive with such files.
    static func list(in bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count >= block, bytes[257..<262].elementsEqual("ustar".utf8) else { return nil }
        var text: [UInt8] = []
        var offset = 0
        while offset + block <= bytes.count {
            let header = bytes[offset..<(offset + block)]
            offset += block
            let digits = header.dropFirst(124).prefix(12).filter { (0x30...0x37).contains($0) }
            // The blocks at the end are empty.
            let size = Int("0" + String(decoding: digits, as: UTF8.self), radix: 8) ?? 0
            guard size <= bytes.count - offset else { break }
            let name = header.prefix(100).prefix { $0 != 0 }
            let isList =
                name.elementsEqual("APKINDEX".utf8) || name.reversed().starts(with: "csed/".utf8)
            if isList { text += bytes[offset..<(offset + size)] + [0x0A, 0x0A] }
            offset += (size + block - 1) / block * block
        }
        return text.isEmpty ? nil : text
    }
}
