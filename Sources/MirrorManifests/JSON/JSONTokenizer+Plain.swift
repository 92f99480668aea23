internal import MirrorModel

/// An object of a list that has only plain members of a resource: the places of its values.
struct PlainObject {
    /// Ranges of the tokenizer's buffer, without quotes.
    var path = 0..<0
    var url = 0..<0
    var sha256 = 0..<0
    var refresh = 0..<0
    /// Bytes; -1 when there is no such member.
    var size: Int64 = -1
    /// Where the object begins.
    fileprivate(set) var start = TextPosition()
    /// The offset behind its closing brace, and the tokenizer's counts there.
    fileprivate var end = 0
    fileprivate var line = 0
    fileprivate var lineStart = 0
    fileprivate var continuations = 0
}

/// The short way through very long manifests.
///
/// Nearly every resource of such a manifest is an object of two to five members, whose texts have
/// no escapes. It is taken at once, as ranges of the buffer, if the buffer holds all of it and
/// nothing about it is doubtful. Otherwise nothing changes, and the tokenizer reads it the usual
/// way, which alone finds and reports errors.
extension JSONTokenizer {
    /// The next object of a list, if it is plain; the tokenizer does not move until `take`.
    func plainObject() -> PlainObject? {
        guard containers.last == UInt8(ascii: "[") else { return nil }
        let needsComma: Bool
        switch expectation {
        case .commaOrEnd: needsComma = true
        case .valueOrEnd, .valueAfterComma: needsComma = false
        default: return nil
        }
        return buffer.withUnsafeBufferPointer { bytes in
            var scan = PlainScan(
                bytes: bytes, at: at, line: line, lineStart: lineStart - bufferStart,
                continuations: continuations)
            guard var object = scan.object(afterComma: needsComma) else { return nil }
            object.end = scan.at
            object.line = scan.line
            object.lineStart = scan.lineStart + bufferStart
            object.continuations = scan.continuations
            return object
        }
    }

    /// Skips a plain object.
    package mutating func take(_ object: PlainObject) {
        at = object.end
        line = object.line
        lineStart = object.lineStart
        continuations = object.continuations
        afterValue()
    }
}

/// A look ahead in the buffer.
private struct PlainScan {
    let bytes: UnsafeBufferPointer<UInt8>
    var at: Int
    var line: Int
    /// The offset in the buffer at which the line begins; negative if it began before the buffer.
    var lineStart: Int
    var continuations: Int

    mutating func object(afterComma: Bool) -> PlainObject? {
        if afterComma, skipSpace() != UInt8(ascii: ",") { return nil }
        if afterComma { at += 1 }
        guard skipSpace() == UInt8(ascii: "{") else { return nil }
        var object = PlainObject()
        object.start = TextPosition(line: line, column: at - lineStart - continuations + 1)
        repeat {
            at += 1
            guard skipSpace() == UInt8(ascii: "\""), member(of: &object) else { return nil }
        } while skipSpace() == UInt8(ascii: ",")
        guard at < bytes.count, bytes[at] == UInt8(ascii: "}"), !object.path.isEmpty,
            !object.url.isEmpty
        else { return nil }
        at += 1
        return object
    }

    private mutating func member(of object: inout PlainObject) -> Bool {
        guard let key = text(), skipSpace() == UInt8(ascii: ":") else { return false }
        at += 1
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
    private mutating func text() -> Range<Int>? {
        let start = at + 1
        var end = start
        while end < bytes.count {
            let byte = bytes[end]
            if byte == UInt8(ascii: "\"") {
                at = end + 1
                return start..<end
            }
            if byte < 0x20 || byte > 0x7E || byte == UInt8(ascii: "\\") { return nil }
            end += 1
        }
        return nil
    }

    /// A whole number of at most 18 digits.
    private mutating func number() -> Int64? {
        let start = at
        var value: Int64 = 0
        while at < bytes.count, case let digit = bytes[at] &- UInt8(ascii: "0"), digit < 10 {
            guard at - start < 18, at == start || value > 0 else { return nil }
            value = value * 10 + Int64(digit)
            at += 1
        }
        guard at > start, at < bytes.count else { return nil }
        switch bytes[at] {
        case UInt8(ascii: ","), UInt8(ascii: "}"), 0x20, 0x09, 0x0A, 0x0D: return value
        default: return nil
        }
    }

    private func has(_ range: Range<Int>, _ key: StaticString) -> Bool {
        guard range.count == key.utf8CodeUnitCount else { return false }
        for offset in 0..<range.count
        where bytes[range.lowerBound + offset] != key.utf8Start[offset] {
            return false
        }
        return true
    }

    /// Skips white space; returns the byte after it, or 0 at the end of the buffer.
    private mutating func skipSpace() -> UInt8 {
        while at < bytes.count {
            switch bytes[at] {
            case 0x20, 0x09, 0x0D: at += 1
            case 0x0A:
                at += 1
                line += 1
                lineStart = at
                continuations = 0
            case let byte: return byte
            }
        }
        return 0
    }
}
