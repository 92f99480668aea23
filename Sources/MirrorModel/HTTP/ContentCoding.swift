/// Content codings as servers use them (RFC 9110 §8.4.1).
///
/// A server that finds `a.tar.gz` may send it as a tar archive with the coding gzip. Those are the
/// bytes of the file as its name has it, and so they are kept.
enum ContentCoding {
    /// Whether a word names no coding, though a server sends it as one.
    static func isNone(_ word: String) -> Bool {
        nones.contains(word) || word.hasPrefix("iso-8859-") || word.hasPrefix("windows-")
            || word.contains("/")
    }

    /// Whether a coding is what the extension of a name says.
    static func isPart(_ coding: String, of name: String) -> Bool {
        let last = name.split(separator: "/").last ?? ""
        guard let dot = last.lastIndex(of: ".") else { return false }
        let coding = coding.hasPrefix("x-") ? String(coding.dropFirst(2)) : coding
        return extensions[last[last.index(after: dot)...].lowercased()] == coding
    }

    /// Encodings of characters and of mail, and words for nothing.
    private static let nones: Set<String> = [
        "none", "binary", "utf-8", "utf8", "us-ascii", "ascii", "7bit", "8bit", "raw", "plain",
    ]

    private static let extensions = [
        "gz": "gzip", "tgz": "gzip", "svgz": "gzip", "br": "br", "zst": "zstd", "tzst": "zstd",
        "bz2": "bzip2", "tbz2": "bzip2", "xz": "xz", "txz": "xz", "lzma": "lzma", "z": "compress",
    ]
}
