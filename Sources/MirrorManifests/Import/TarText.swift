internal import MirrorModel

/// The texts in a tar archive that together are a list: APKINDEX, or `desc` of each package.
enum TarText {
    private static let block = 512

    /// The texts with blank lines between them; nil if the bytes are no tar archive with such files.
    static func list(in bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count >= block, bytes[257..<262].elementsEqual("ustar".utf8) else { return nil }
        var text: [UInt8] = []
        var offset = 0
        // GNU tar and pax have a long name in an entry in front of it.
        var longName: ArraySlice<UInt8>?
        while offset + block <= bytes.count {
            let header = bytes[offset..<(offset + block)]
            offset += block
            let digits = header.dropFirst(124).prefix(12).filter { (0x30...0x37).contains($0) }
            // The blocks at the end are empty.
            let size = Int("0" + String(decoding: digits, as: UTF8.self), radix: 8) ?? 0
            guard size <= bytes.count - offset else { break }
            let body = bytes[offset..<(offset + size)]
            let name: ArraySlice<UInt8> = longName ?? header.prefix(100).prefix { $0 != 0 }
            switch header[header.startIndex + 156] {
            case UInt8(ascii: "L"): longName = body.prefix { $0 != 0 }
            case UInt8(ascii: "x"): longName = path(inPax: body)
            case UInt8(ascii: "g"): break
            default:
                longName = nil
                let isList =
                    name.elementsEqual("APKINDEX".utf8) || name.elementsEqual("desc".utf8)
                    || name.reversed().starts(with: "csed/".utf8)
                if isList { text += body + [0x0A, 0x0A] }
            }
            offset += (size + block - 1) / block * block
        }
        return text.isEmpty ? nil : text
    }

    /// The path in an extended header, `LENGTH path=PATH` and a line end (pax(1)); nil without one.
    private static func path(inPax body: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        for record in body.split(separator: 0x0A) {
            guard let space = record.firstIndex(of: 0x20) else { continue }
            let field = record[(space + 1)...]
            if field.starts(with: "path=".utf8) { return field.dropFirst(5) }
        }
        return nil
    }
}
