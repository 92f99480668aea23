/// The values that all plain resources of a manifest share.
///
/// A plain resource declares only a path, a URL, a size, a sha256 and a refresh. Nearly all
/// resources of very long manifests are plain, and the table takes them over as bytes.
package struct PlainResources: Sendable {
    let authority: Int
    /// The base's path up to its last slash.
    let folder: [UInt8]
    let pinnedTraits: Int
    let unpinnedTraits: Int
}

/// One plain resource, as bytes that are checked before they are taken over.
package struct PlainResource {
    /// The target.
    package var path: UnsafeBufferPointer<UInt8>
    /// The URL, relative to the base.
    package var reference: UnsafeBufferPointer<UInt8>
    /// Bytes; nil when not declared.
    package var size: Int64?
    /// 64 hexadecimal digits; nil when not declared.
    package var sha256: UnsafeBufferPointer<UInt8>?
    /// The line of the manifest in which the resource begins.
    package var line: Int
    /// The column in that line.
    package var column: Int

    /// Takes the bytes as they are.
    package init(
        path: UnsafeBufferPointer<UInt8>, reference: UnsafeBufferPointer<UInt8>, size: Int64?,
        sha256: UnsafeBufferPointer<UInt8>?, line: Int, column: Int
    ) {
        self.path = path
        self.reference = reference
        self.size = size
        self.sha256 = sha256
        self.line = line
        self.column = column
    }
}

extension ResourceTable {
    /// Prepares the values that the plain resources of a manifest will share.
    ///
    /// `pinned` and `unpinned` are samples: they carry the traits of resources with a pin and of
    /// those without.
    package mutating func plainResources(
        beneath base: SourceURL, pinned: Resource, unpinned: Resource
    ) -> PlainResources {
        own()
        let path = Array(base.path.utf8)
        let slash = path.lastIndex(of: UInt8(ascii: "/")) ?? -1
        return PlainResources(
            authority: columns.authorities.number(of: base.authority),
            folder: Array(path[...slash]),
            pinnedTraits: columns.traits.number(of: ResourceTraits(pinned)),
            unpinnedTraits: columns.traits.number(of: ResourceTraits(unpinned)))
    }

    /// Adds a plain resource at the end.
    ///
    /// Returns false, and adds nothing, when any of its bytes needs closer inspection.
    package mutating func append(_ plain: PlainResource, of common: PlainResources) -> Bool {
        guard PlainBytes.isTarget(plain.path), PlainBytes.isReference(plain.reference),
            common.authority <= Int(UInt16.max)
        else { return false }
        own()
        var digest: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        if let hex = plain.sha256 {
            let isSound = withUnsafeMutableBytes(of: &digest) { PlainBytes.decode(hex, into: $0) }
            guard isSound else { return false }
        }
        // The longest common end of the path and the URL's path, which is the base's folder
        // followed by the reference.
        var shared = PlainBytes.sharedSuffix(plain.path, plain.reference)
        var rest = plain.reference.count - shared
        var kept = common.folder.count
        if rest == 0 {
            let path = UnsafeBufferPointer(rebasing: plain.path.dropLast(shared))
            let more = common.folder.withUnsafeBufferPointer { PlainBytes.sharedSuffix(path, $0) }
            shared += more
            kept -= more
        }
        rest += kept
        guard rest <= Int(UInt16.max) else { return false }
        let isPinned = plain.sha256 != nil
        var record = ResourceRecord(
            position: columns.arena.reserve(plain.path.count + rest + (isPinned ? 32 : 0)),
            pathLength: plain.path.count, digest: isPinned ? .sha256 : nil)
        columns.arena.append(plain.path)
        common.folder.withUnsafeBufferPointer { folder in
            columns.arena.append(UnsafeBufferPointer(rebasing: folder.prefix(kept)))
        }
        if rest > kept {
            columns.arena.append(UnsafeBufferPointer(rebasing: plain.reference.prefix(rest - kept)))
        }
        if isPinned {
            withUnsafeBytes(of: &digest) { columns.arena.append($0.bindMemory(to: UInt8.self)) }
        }
        record.urlLength = UInt16(rest)
        record.sharedLength = UInt16(shared)
        record.authority = UInt16(common.authority)
        record.size = plain.size ?? -1
        record.line = UInt32(clamping: plain.line)
        record.column = UInt32(clamping: plain.column)
        record.traits = UInt32(isPinned ? common.pinnedTraits : common.unpinnedTraits)
        columns.records.append(record)
        return true
    }
}

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

    static func sharedSuffix(
        _ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>
    ) -> Int {
        var count = 0
        while count < min(first.count, second.count),
            first[first.count - 1 - count] == second[second.count - 1 - count]
        {
            count += 1
        }
        return count
    }
}
