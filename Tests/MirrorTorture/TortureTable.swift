internal import MirrorTestSupport

/// The classes that can be run, and their table.
public enum TortureTable {
    /// Every class, in the order of the table.
    public static let classes: [any TortureClass.Type] = [
        KillTorture.self, CallTorture.self, PowerTorture.self, FaultTorture.self,
        LyingDiskTorture.self, AnswerTorture.self, ManifestTorture.self, NameTorture.self,
        SwapTorture.self, CrowdTorture.self, IndexTorture.self, FullDiskTorture.self,
        SecretTorture.self, EndlessTorture.self, RealServerTorture.self, SignalTorture.self,
        ClockTorture.self, FuzzTorture.self, SanitizerTorture.self, LivenessTorture.self,
        SimulationTorture.self, MixedTorture.self,
    ]

    /// A class on the page: its row, and beneath that the item with its notes, where it has any.
    public static func row(_ kind: any TortureClass.Type, _ tally: Tally) -> String {
        let times = tally.reasonNotRun == nil ? "\(tally.tried)" : "–"
        let held = tally.reasonNotRun == nil ? "\(tally.held)" : "not run here"
        let notes = tally.reasonNotRun.map { [$0] } ?? tally.notes
        let row = "| \(kind.name) | \(kind.title) | \(times) | \(held) |"
        guard !notes.isEmpty else { return row }
        return row + "\n" + item(kind.name, notes.joined(separator: "; "))
    }

    /// A page with its table replaced: rows and notes of classes that were not run now stay.
    ///
    /// - Parameter rows: each as `row` makes it.
    /// - Returns: nil when the page has no markers.
    public static func page(_ page: String, with rows: [String]) -> String? {
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard let first = lines.firstIndex(of: begin), let last = lines.lastIndex(of: end),
            first < last
        else { return nil }
        var (table, notes) = parsed(Array(lines[first..<last]))
        for row in rows {
            let new = parsed(row.split(separator: "\n").map(String.init))
            for (name, line) in new.rows {
                table[name] = line
                notes[name] = new.notes[name]
            }
        }
        func number(_ name: String) -> Int { Int(name.dropFirst()) ?? 0 }
        let names = table.keys.sorted { number($0) < number($1) }
        let items = names.flatMap { notes[$0] ?? [] }
        var block = header + names.compactMap { table[$0] }
        if !items.isEmpty { block += [""] + items }
        return (lines[...first] + block + lines[last...]).joined(separator: "\n")
    }

    /// Rows and lines of notes, by the name of their class.
    private static func parsed(
        _ lines: [String]
    ) -> (rows: [String: String], notes: [String: [String]]) {
        var rows: [String: String] = [:]
        var notes: [String: [String]] = [:]
        var item: String?
        for line in lines {
            let name = String(line.dropFirst(2).prefix { $0.isLetter || $0.isNumber })
            if line.hasPrefix("| R") {
                rows[name] = line
            } else if line.hasPrefix("- R") {
                item = name
                notes[name] = [line]
            } else if line.hasPrefix("  "), let item {
                notes[item]?.append(line)
            }
        }
        return (rows, notes)
    }

    /// An item of the list, in lines of at most 118 bytes.
    private static func item(_ name: String, _ text: String) -> String {
        var lines: [String] = []
        var line = "- \(name):"
        for word in text.split(separator: " ") {
            if line.utf8.count + 1 + word.utf8.count > 118 {
                lines.append(line)
                line = "  \(word)"
            } else {
                line += " \(word)"
            }
        }
        return (lines + [line]).joined(separator: "\n")
    }

    private static let begin = "<!-- torture: begin -->"
    private static let end = "<!-- torture: end -->"
    private static let header = ["| class | tried | times | held |", "|---|---|---:|---:|"]
}
