/// Splits texts at an ASCII character, by their bytes.
///
/// Swift reads a slash and a combining mark behind it as one `Character`, which is not a slash. A
/// kernel, a server and every other program read a slash and a name that begins oddly. So no code
/// looks among Characters for a separator that has a meaning outside this program.
extension StringProtocol where UTF8View: BidirectionalCollection {
    /// The text split at a separator; empty parts are left out unless requested.
    package func parts(
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

    /// The text before and after the first separator; nil when there is none.
    package func halves(
        atFirst separator: Unicode.Scalar
    ) -> (before: SubSequence, after: SubSequence)? {
        utf8.firstIndex(of: UInt8(ascii: separator)).map(halves)
    }

    /// The text before and after the last separator; nil when there is none.
    package func halves(
        atLast separator: Unicode.Scalar
    ) -> (before: SubSequence, after: SubSequence)? {
        utf8.lastIndex(of: UInt8(ascii: separator)).map(halves)
    }

    private func halves(_ at: Index) -> (before: SubSequence, after: SubSequence) {
        (self[..<at], self[utf8.index(after: at)...])
    }
}
