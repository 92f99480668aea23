extension String {
    /// The longest prefix of at most `limit` bytes of UTF-8 that does not split a character's code.
    package func prefix(bytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: max(0, limit))
        // A continuation byte is 10xxxxxx (RFC 3629 §3): step back to the byte that leads it.
        while end > utf8.startIndex, utf8[end] & 0xC0 == 0x80 { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
