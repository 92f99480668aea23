/// Full case folding, by which two names are one file on a tree that ignores case.
///
/// A folded `String` is compared with `==`, which is canonical equivalence. So two texts are the
/// same when they are equal after full case folding and NFC together (Unicode 3.13, D145).
package enum CaseFolding {
    /// The text with every character replaced by its full case folding.
    package static func fold(_ text: some StringProtocol) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar.isASCII {
                result.append(Unicode.Scalar(ASCII.lower(UInt8(scalar.value))))
            } else if let folded = table[scalar.value] {
                result.append(contentsOf: folded)
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }

    /// Made at first use, from the runs: most trees have names in ASCII only and never need it.
    private static let table: [UInt32: [Unicode.Scalar]] = {
        var table: [UInt32: [Unicode.Scalar]] = [:]
        let runs = CaseFoldingTable.runs
        for run in stride(from: 0, to: runs.count, by: 4) {
            for code in stride(from: runs[run], through: runs[run + 1], by: Int(runs[run + 2])) {
                table[UInt32(code)] = [scalar(code + runs[run + 3])].compactMap(\.self)
            }
        }
        let expansions = CaseFoldingTable.expansions
        var at = 0
        while at < expansions.count {
            let end = at + 2 + Int(expansions[at + 1])
            table[UInt32(expansions[at])] = expansions[(at + 2)..<end].compactMap(scalar)
            at = end
        }
        return table
    }()

    private static func scalar(_ code: Int32) -> Unicode.Scalar? { Unicode.Scalar(UInt32(code)) }
}
