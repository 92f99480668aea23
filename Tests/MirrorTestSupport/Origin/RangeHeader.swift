/// A request's Range of one range that begins within the whole (RFC 9110 §14.2).
package struct RangeHeader {
    /// The bytes that are asked for and exist.
    package let bytes: Range<Int>
    private let whole: Int

    /// Reads `bytes=N-` or `bytes=N-M`; nil for anything else, and for what cannot be satisfied.
    package init?(_ text: String, of whole: Int) {
        guard text.hasPrefix("bytes=") else { return nil }
        let ends = text.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int(ends[0]), first < whole else { return nil }
        let last = ends[1].isEmpty ? whole - 1 : Int(ends[1]) ?? -1
        guard last >= first else { return nil }
        bytes = first..<min(last, whole - 1) + 1
        self.whole = whole
    }

    /// The header lines of the answer.
    package var headers: [String] {
        [
            "Content-Range: bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(whole)",
            "Content-Length: \(bytes.count)",
        ]
    }
}
