internal import MirrorModel

/// The tree of a repository as Hugging Face's API describes it.
///
/// The digest of a large file is its sha256; the one of a small file is git's, which is not a
/// digest of the file's bytes.
enum HuggingFaceList {
    /// How many files one answer of the API has at most.
    private static let mostEntries = 1000

    static func read(_ tree: JSONTree, into collector: ListCollector) {
        for element in tree.elements where element["type"]?.string == "file" {
            guard let path = element["path"]?.word else {
                collector.leaveOut("", "the file has no path", at: element.place)
                continue
            }
            var entry = ListEntry(named: path)
            let lfs = element["lfs"]
            entry.size = (lfs?["size"] ?? element["size"])?.number
            if let digest = lfs?["oid"]?.word ?? lfs?["sha256"]?.word {
                entry.digests = [(.sha256, withoutAlgorithm(digest))]
            }
            collector.add(entry)
        }
        if tree.elements.count == mostEntries {
            collector.note(
                "\(mostEntries) entries are the most that one answer has; there may be more", "",
                at: tree.place)
        }
    }

    private static func withoutAlgorithm(_ digest: ListWord) -> ListWord {
        guard let (name, hex) = digest.value.halves(atFirst: ":"), name == "sha256" else {
            return digest
        }
        return ListWord(value: String(hex), place: digest.place)
    }
}
