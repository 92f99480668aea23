internal import MirrorModel

/// An object of a list that has only plain members of a resource: the places of its values.
///
/// It is the short way through very long manifests. Nearly every resource of such a manifest is an
/// object of two to five members, whose texts have no escapes. It is taken at once, as ranges of the
/// chunk, if the chunk holds all of it and nothing about it is doubtful. Otherwise nothing changes,
/// and the tokenizer reads it the usual way, which alone finds and reports errors.
struct PlainObject {
    /// Ranges of the chunk, without quotes.
    fileprivate(set) var path = 0..<0
    fileprivate(set) var url = 0..<0
    fileprivate(set) var sha256 = 0..<0
    fileprivate(set) var refresh = 0..<0
    /// Bytes; -1 when there is no such member.
    fileprivate(set) var size: Int64 = -1
    /// Where the object begins.
    fileprivate(set) var start = TextPosition()
    /// The place behind its closing brace.
    fileprivate(set) var end = JSONCursor.Mark()

    /// The plain object that comes next in a chunk; nil if what comes next is none.
    static func next(in chunk: [UInt8], from mark: JSONCursor.Mark, afterComma: Bool)
        -> PlainObject?
    {
        chunk.withUnsafeBufferPointer { bytes in
            var scan = PlainScan(bytes: bytes, mark: mark)
            return scan.object(afterComma: afterComma)
        }
    }
}

/// A look ahead in the chunk.
///
/// Its steps are always inlined: a long manifest takes dozens of them for each resource, and with a
/// call for each, the look ahead needs a sixth more instructions.
private struct PlainScan {
    let bytes: UnsafeBufferPointer<UInt8>
    var mark: JSONCursor.Mark

    mutating func object(afterComma: Bool) -> PlainObject? {
        if afterComma {
            guard skipSpace() == UInt8(ascii: ",") else { return nil }
            mark.at += 1
        }
        guard skipSpace() == UInt8(ascii: "{") else { return nil }
        var object = PlainObject()
        object.start = mark.position
        repeat {
            mark.at += 1
            guard skipSpace() == UInt8(ascii: "\""), member(of: &object) else { return nil }
        } while skipSpace() == UInt8(ascii: ",")
        guard mark.at < bytes.count, bytes[mark.at] == UInt8(ascii: "}"), !object.path.isEmpty,
            !object.url.isEmpty
        else { return nil }
        mark.at += 1
        object.end = mark
        return object
    }

    @inline(__always)
    private mutating func member(of object: inout PlainObject) -> Bool {
        guard let key = text(), skipSpace() == UInt8(ascii: ":") else { return false }
        mark.at += 1
        let first = skipSpace()
        if has(key, "size") {
            guard object.size < 0, let size = number() else { return false }
            object.size = size
            return true
        }
        guard first == UInt8(ascii: "\""), let value = text(), !value.isEmpty else { return false }
        if has(key, "path"), object.path.isEmpty {
            object.path = value
        } else if has(key, "url"), object.url.isEmpty {
            object.url = value
        } else if has(key, "sha256"), object.sha256.isEmpty {
            object.sha256 = value
        } else if has(key, "refresh"), object.refresh.isEmpty {
            object.refresh = value
        } else {
            return false
        }
        return true
    }

    /// Takes a text in quotes at the current byte; nil if it has more than plain ASCII.
    @inline(__always)
    private mutating func text() -> Range<Int>? {
        let start = mark.at + 1
        let end = PlainText.end(in: UnsafeRawBufferPointer(bytes), from: start)
        guard end < bytes.count, bytes[end] == UInt8(ascii: "\"") else { return nil }
        mark.at = end + 1
        return start..<end
    }

    /// A whole number of at most 18 digits.
    private mutating func number() -> Int64? {
        let start = mark.at
        var value: Int64 = 0
        while mark.at < bytes.count, case let digit = bytes[mark.at] &- UInt8(ascii: "0"),
            digit < 10
        {
            guard mark.at - start < 18, mark.at == start || value > 0 else { return nil }
            value = value * 10 + Int64(digit)
            mark.at += 1
        }
        guard mark.at > start, mark.at < bytes.count else { return nil }
        switch bytes[mark.at] {
        case UInt8(ascii: ","), UInt8(ascii: "}"), 0x20, 0x09, 0x0A, 0x0D: return value
        default: return nil
        }
    }

    @inline(__always)
    private func has(_ range: Range<Int>, _ key: StaticString) -> Bool {
        guard range.count == key.utf8CodeUnitCount else { return false }
        for offset in 0..<range.count
        where bytes[range.lowerBound + offset] != key.utf8Start[offset] {
            return false
        }
        return true
    }

    /// Skips white space; returns the byte after it, or 0 at the end of the chunk.
    @inline(__always)
    private mutating func skipSpace() -> UInt8 {
        while mark.at < bytes.count {
            switch bytes[mark.at] {
            case 0x20, 0x09, 0x0D: mark.at += 1
            case 0x0A: mark.takeNewline()
            case let byte: return byte
            }
        }
        return 0
    }
}
