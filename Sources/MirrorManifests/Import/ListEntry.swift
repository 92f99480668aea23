internal import MirrorModel

/// A file of a list, as the list describes it.
struct ListEntry {
    /// Where the file is described.
    var place: TextPosition
    /// Its URL; nil if the list has only names, which are relative to the list's base.
    var url: ListWord?
    /// Its path in `Caches/`; nil stands for the last part of its URL, in `folder`.
    var path: ListWord?
    /// The folder of a file that is named by its URL; nil stands for `Caches/` itself.
    var folder: String?
    /// Further URLs of the same bytes.
    var mirrors: [ListWord] = []
    var size: ListWord?
    /// A size that proves nothing, in bytes.
    var likelySize: Int64?
    /// Digests in hexadecimal digits.
    var digests: [(algorithm: DigestAlgorithm, hex: ListWord)] = []
    /// A digest as Subresource Integrity.
    var integrity: ListWord?
    var headers: [(name: ListWord, value: ListWord)] = []
    var tags: [String] = []

    /// A file that is described at a place.
    init(at place: TextPosition) { self.place = place }

    /// A file whose path, and whose URL beneath the base, are one name.
    init(named name: ListWord) {
        place = name.place
        path = name
    }

    /// Whether a value is longer than mirror's own reader takes it from a manifest.
    var isTooLong: Bool {
        let words = [url, path, size, integrity].compactMap(\.self) + mirrors + digests.map(\.hex)
        // A dollar sign in a header is doubled.
        let values = words.map(\.value) + tags
        return values.contains { $0.utf8.count > JSONTokenizer.longestText }
            || headers.contains {
                max($0.name.value.utf8.count, 2 * $0.value.value.utf8.count)
                    > JSONTokenizer.longestText
            }
    }

    /// Takes `sha256:…` or `sha256=…`; false if mirror has no such algorithm.
    mutating func addDigest(_ word: ListWord, at mark: Unicode.Scalar) -> Bool {
        guard let (name, hex) = word.value.halves(atFirst: mark) else { return false }
        return addDigest(String(name), ListWord(value: String(hex), place: word.place))
    }

    /// Takes a digest; false if mirror has no such algorithm.
    mutating func addDigest(_ name: String, _ hex: ListWord) -> Bool {
        let plain = name.lowercased().split(separator: "-").joined()
        guard let algorithm = DigestAlgorithm(rawValue: plain) else { return false }
        digests.append((algorithm, hex))
        return true
    }
}
