internal import MirrorModel

/// The lock files in TOML, told apart by their keys.
enum TOMLLists {
    /// Why a line cannot be in a TOML lock file; nil if it can.
    static func flaw(_ line: ListLine) -> String? {
        let text = line.trimmed
        let begins = [
            "[[package]]", "[[packages]]", "[package]", "[metadata]", "[options]", "[manifest]",
            "[project]", "[build-system]",
        ]
        if begins.contains(where: text.hasPrefix) { return nil }
        guard let (key, value) = text.halves(atFirst: "="), !key.isEmpty else {
            return "neither opens a table such as [[package]] nor sets a key"
        }
        let isKey = key.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                || "-_. \t\"'".utf8.contains(byte)
        }
        return isKey && value.utf8.first != UInt8(ascii: "=") ? nil : "sets no key"
    }

    /// The format of a lock file; throws where mirror does not read it.
    static func format(of tree: JSONTree, _ reader: ListReader) throws(DecodingStop) -> ListFormat {
        let packages = tree["package"]?.elements ?? []
        let metadata = tree["metadata"]
        if tree["lock-version"] != nil, tree["packages"] != nil { return .pylock }
        if metadata?["content-hash"] != nil { return .poetry }
        if packages.contains(where: { !($0["source"]?.members.isEmpty ?? true) }) { return .uv }
        if packages.contains(where: { $0["source"]?.string != nil }) { return .cargo }
        if let foreign = ForeignList.shown(byTables: tree) { throw reader.refuse(foreign) }
        reader.builder.log.error(
            at: TextPosition(),
            "this is TOML, but none of the lists in TOML that mirror reads (pylock, uv, poetry, cargo):"
                + " it has neither lock-version nor content-hash nor a [[package]] with a source")
        throw .refused
    }
}
