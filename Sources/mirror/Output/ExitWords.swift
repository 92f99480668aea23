/// The meaning of each exit code, in the words of `mirror --help`.
enum ExitWords {
    /// The codes in the order of their numbers; docs/exit-codes.md says more about each.
    static let all: [(code: Int32, words: String)] = [
        (0, "the tree matches"),
        (1, "a resource failed for good, or verify found a difference"),
        (2, "plan --exit-code: there is something to do"),
        (64, "usage"),
        (65, "the manifest is invalid"),
        (66, "the manifest cannot be read"),
        (69, "running again may help"),
        (70, "a bug in mirror"),
        (73, "the root cannot be used"),
        (74, "input or output failed, disk full"),
        (75, "another run holds the lock"),
        (77, "refused by a limit"),
        (78, "the index is of a newer mirror"),
        (129, interrupted), (130, interrupted), (143, interrupted),
    ]

    private static let interrupted = "interrupted; parts are kept"

    /// Returns the meaning of a code. Returns nil for a code that this mirror does not have.
    static func words(for code: Int32) -> String? { all.first { $0.code == code }?.words }

    /// The lines of `mirror --help`: those of sysexits.h stand in two columns.
    static var help: String {
        let system = all.filter { (64..<128).contains($0.code) }
        let half = (system.count + 1) / 2
        var lines = all.filter { $0.code < 64 }.map { line($0.code, $0.words) }
        for (left, right) in zip(system.prefix(half), system.dropFirst(half)) {
            let column = line(left.code, left.words)
            let gap = String(repeating: " ", count: max(2, 33 - column.count))
            lines.append(column + gap + "\(right.code)  \(right.words)")
        }
        let signals = all.filter { $0.code >= 128 }.map { "\($0.code)" }.joined(separator: ", ")
        return (lines + ["  \(signals)  \(interrupted)"]).joined(separator: "\n")
    }

    private static func line(_ code: Int32, _ words: String) -> String {
        "  \(code)\(code < 10 ? " " : "")  \(words)"
    }
}
