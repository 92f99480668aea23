internal import MirrorModel

/// The lock files in TOML, told apart by their keys.
enum TOMLLists {
    /// Why a line cannot be in a TOML lock file; nil if it can.
    static func flaw(_ line: ListLine) -> String? {
        let text = line.trimmed
        let begins = [
            "[[package]]", "[[packages]]", "[package]", "[metadata]", "[options]", "[manifest]",
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

    /// Reads a TOML lock file; detects the format unless `wanted` names it.
    static func read(
        _ text: ListText, wanted: ListFormat?, _ reader: ListReader
    ) throws(DecodingStop) -> ListCollector {
        let log = reader.builder.log
        let tree = try TOMLParser.tree(of: text, log: log)
        guard let format = wanted ?? format(of: tree) else {
            log.error(
                at: TextPosition(),
                "this is TOML, but none of the lists in TOML that mirror reads (pylock, uv, cargo):"
                    + " it has neither lock-version nor a [[package]] with a source",
                remedy: Remedy(.nameFormat))
            throw .refused
        }
        let collector = ListCollector(format, builder: reader.builder, hint: reader.hint)
        switch format {
        case .pylock: PylockList.read(tree, into: collector)
        case .uv: UVList.read(tree, into: collector)
        case .cargo: CargoList.read(tree, into: collector)
        default: throw reader.refuseNotation(of: format)
        }
        return collector
    }

    private static func format(of tree: JSONTree) -> ListFormat? {
        if tree["lock-version"] != nil, tree["packages"] != nil { return .pylock }
        let packages = tree["package"]?.elements ?? []
        if packages.contains(where: { !($0["source"]?.members.isEmpty ?? true) }) { return .uv }
        return packages.contains { $0["source"]?.string != nil } ? .cargo : nil
    }
}
