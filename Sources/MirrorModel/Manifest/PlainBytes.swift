/// Bytes that stand for themselves in every rule for paths and URLs; doubtful bytes are not plain.
package enum PlainBytes {
    private static let isWord: [Bool] = (0..<256).map { byte in
        switch UInt8(byte) {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// Whether a path is a target in Documents or Caches, of letters, digits and `-_~.` only.
    static func isTarget(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
        let isInArea = path.starts(with: "Caches/".utf8) || path.starts(with: "Documents/".utf8)
        return isInArea && path.count <= Target.longestPath && isPath(path)
    }

    /// Whether a URL is a relative path of such bytes.
    static func isReference(_ url: UnsafeBufferPointer<UInt8>) -> Bool {
        url.count <= 4096 && isPath(url) && !beginsWithHost(url)
    }

    /// The range of an HTTP URL's origin: scheme, host, perhaps a port, and the slash behind them.
    ///
    /// The URL begins with `http://` or `https://`, and host and port have plain bytes only. Nil
    /// for other URLs.
    package static func origin(of url: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
        for scheme in ["https://", "http://"] as [StaticString] {
            let count = scheme.utf8CodeUnitCount
            guard url.count > count, begins(url, scheme, count) else { continue }
            var end = count
            while end < url.count, isWord[Int(url[end])] || url[end] == UInt8(ascii: ":") {
                end += 1
            }
            guard end > count, end < url.count, url[end] == UInt8(ascii: "/") else { return nil }
            return 0..<end + 1
        }
        return nil
    }

    private static func begins(
        _ bytes: UnsafeBufferPointer<UInt8>, _ text: StaticString, _ count: Int
    ) -> Bool {
        (0..<count).allSatisfy { bytes[$0] == text.utf8Start[$0] }
    }

    /// Whether the first component may be a host; such a path needs closer inspection.
    private static func beginsWithHost(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let slash = path.firstIndex(of: UInt8(ascii: "/")) else { return false }
        let first = UnsafeBufferPointer(rebasing: path[..<slash])
        guard first.contains(UInt8(ascii: ".")) else { return false }
        let lowered = first.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        return lowered.withUnsafeBufferPointer { BareHost.isHost($0) }
    }

    /// Whether all components have such bytes, none empty, beginning with a dot, or over 255 bytes.
    private static func isPath(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
        isWord.withUnsafeBufferPointer { isWord in
            var start = 0
            for at in path.indices {
                let byte = path[at]
                if byte == UInt8(ascii: "/") {
                    if at == start || at - start > 255 { return false }
                    start = at + 1
                } else if !isWord[Int(byte)] || (at == start && byte == UInt8(ascii: ".")) {
                    return false
                }
            }
            return path.count > start && path.count - start <= 255
        }
    }

    /// Decodes two hexadecimal digits, in either case, for each byte; false for any other text.
    ///
    /// Always inlined, because the loop is cheaper where its length is known.
    @inline(__always)
    static func decode(
        _ hex: UnsafeBufferPointer<UInt8>, into bytes: UnsafeMutableRawBufferPointer
    ) -> Bool {
        guard hex.count == 2 * bytes.count else { return false }
        return nibbles.withUnsafeBufferPointer { nibbles in
            var all: UInt8 = 0
            for at in 0..<bytes.count {
                let high = nibbles[Int(hex[2 * at])]
                let low = nibbles[Int(hex[2 * at + 1])]
                all |= high | low
                bytes[at] = high << 4 | low & 15
            }
            return all < 16
        }
    }

    /// The value of each hexadecimal digit; 255 for other bytes.
    ///
    /// A table needs no branch for each digit, and digests are the greater part of a long manifest.
    private static let nibbles: [UInt8] = (0...255).map { Hex.value(of: $0) ?? 255 }
}
