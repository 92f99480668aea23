/// Splits texts at an ASCII character, by their bytes.
///
/// Swift reads a slash and a combining mark after it as one `Character`, which is not a slash. A
/// kernel, a server and every other program read a slash and a name that begins oddly. So mirror
/// never looks among Characters for a separator that other programs read too.
extension StringProtocol where UTF8View: BidirectionalCollection {
    /// Splits the text at a separator. Empty parts are left out unless `keepingEmpty` is true.
    ///
    /// - Parameter most: the greatest number of parts; the last one is the unsplit rest.
    func parts(
        at separator: Unicode.Scalar, most: Int = .max, keepingEmpty: Bool = false
    ) -> [SubSequence] {
        let byte = UInt8(ascii: separator)
        var parts: [SubSequence] = []
        var start = startIndex
        while parts.count < most - 1, let end = utf8[start...].firstIndex(of: byte) {
            if keepingEmpty || start < end { parts.append(self[start..<end]) }
            start = utf8.index(after: end)
        }
        if keepingEmpty || start < endIndex { parts.append(self[start...]) }
        return parts
    }

    /// Returns the text before and after the first separator. Returns nil without a separator.
    func halves(
        atFirst separator: Unicode.Scalar
    ) -> (before: SubSequence, after: SubSequence)? {
        utf8.firstIndex(of: UInt8(ascii: separator)).map(halves)
    }

    /// Returns the text before and after the last separator. Returns nil without a separator.
    func halves(
        atLast separator: Unicode.Scalar
    ) -> (before: SubSequence, after: SubSequence)? {
        utf8.lastIndex(of: UInt8(ascii: separator)).map(halves)
    }

    private func halves(_ at: Index) -> (before: SubSequence, after: SubSequence) {
        (self[..<at], self[utf8.index(after: at)...])
    }
}

extension String {
    /// Joins texts in one allocation. An interpolation would grow its result with each text.
    init(joining texts: String...) {
        self.init(unsafeUninitializedCapacity: texts.reduce(0) { $0 + $1.utf8.count }) { room in
            var end = 0
            for var text in texts {
                text.withUTF8 { bytes in
                    let rest = UnsafeMutableBufferPointer(rebasing: room[end...])
                    UnsafeMutableRawBufferPointer(rest).copyMemory(from: .init(bytes))
                    end += bytes.count
                }
            }
            return end
        }
    }
}

/// Splits a path at its last slash, by its bytes. Each promotion does this several times.
enum PathText {
    /// Returns the text before the last slash, or an empty text without a slash.
    static func folder(of path: String) -> String {
        part(of: path) { $0.prefix(max($1, 0)) }
    }

    /// Returns the text after the last slash, or the whole path without a slash.
    static func name(of path: String) -> String {
        part(of: path) { $0.dropFirst($1 + 1) }
    }

    /// Returns the number of bytes before the last component.
    static func nameStart(in path: String) -> Int {
        let start = path.utf8.withContiguousStorageIfAvailable {
            ($0.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1
        }
        return start ?? path.utf8.count - name(of: path).utf8.count
    }

    /// Whether `folder` is the text before the path's last slash; found without making a text.
    static func isFolder(_ folder: String, of path: String) -> Bool {
        // The closures read both texts in place. A variable for each text would count a reference.
        let answer = folder.utf8.withContiguousStorageIfAvailable { folder in
            path.utf8.withContiguousStorageIfAvailable { path in
                let slash = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
                return slash == folder.count
                    && ByteOrder.commonPrefix(folder, path, limit: slash) == slash
            }
        }
        return (answer ?? nil) ?? areSame(folder, self.folder(of: path))
    }

    /// Whether a text has exactly these bytes.
    static func hasBytes(_ text: String, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let answer = text.utf8.withContiguousStorageIfAvailable {
            $0.count == bytes.count && ByteOrder.compare($0, bytes) == 0
        }
        return answer ?? text.utf8.elementsEqual(bytes)
    }

    /// Whether two paths have the same bytes. `==` on texts is true also for some that differ.
    static func areSame(_ first: String, _ second: String) -> Bool {
        var (first, second) = (first, second)
        return first.withUTF8 { first in
            second.withUTF8 { second in
                first.count == second.count && ByteOrder.compare(first, second) == 0
            }
        }
    }

    private static func part(
        of path: String,
        _ body: (UnsafeBufferPointer<UInt8>, Int) -> Slice<UnsafeBufferPointer<UInt8>>
    ) -> String {
        var path = path
        return path.withUTF8 { bytes in
            let slash = bytes.lastIndex(of: UInt8(ascii: "/")) ?? -1
            return String(decoding: body(bytes, slash), as: UTF8.self)
        }
    }
}

extension String {
    /// Returns the longest prefix of at most `limit` bytes of UTF-8 that splits no Unicode scalar.
    func prefix(bytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: max(0, limit))
        // A continuation byte is 10xxxxxx (RFC 3629 §3): step back to the byte that leads it.
        while end > utf8.startIndex, utf8[end] & 0xC0 == 0x80 { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}

/// Compares bytes in the order of memcmp(3), eight at a time where possible.
enum ByteOrder {
    static func commonPrefix(
        _ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>,
        limit: Int = .max
    ) -> Int {
        let end = min(first.count, second.count, limit)
        guard let first = UnsafeRawPointer(first.baseAddress),
            let second = UnsafeRawPointer(second.baseAddress)
        else { return 0 }
        var at = 0
        while at + 8 <= end {
            let left = first.loadUnaligned(fromByteOffset: at, as: UInt64.self).littleEndian
            let right = second.loadUnaligned(fromByteOffset: at, as: UInt64.self).littleEndian
            // The lowest differing bit is in the first differing byte.
            if left != right { return at + (left ^ right).trailingZeroBitCount / 8 }
            at += 8
        }
        while at < end,
            first.load(fromByteOffset: at, as: UInt8.self)
                == second.load(fromByteOffset: at, as: UInt8.self)
        {
            at += 1
        }
        return at
    }

    /// Returns how many bytes at the end of both texts are equal.
    static func commonSuffix(
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

    /// Compares two texts by their bytes, a prefix before the longer text.
    ///
    /// Returns a negative number if the first comes before the second, 0 if both are equal, else a
    /// positive number.
    static func compare(
        _ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>
    ) -> Int {
        let at = commonPrefix(first, second)
        if at == min(first.count, second.count) { return first.count - second.count }
        return Int(first[at]) - Int(second[at])
    }
}
