/// The classes that can be run, and their table.
public enum TortureTable {
    /// Every class, in the order of the table.
    public static let classes: [any TortureClass.Type] = [
        KillTorture.self, CallTorture.self, PowerTorture.self, FaultTorture.self,
        LyingDiskTorture.self, AnswerTorture.self, ManifestTorture.self, NameTorture.self,
        SwapTorture.self, CrowdTorture.self, IndexTorture.self, FullDiskTorture.self,
        SecretTorture.self, EndlessTorture.self, RealServerTorture.self, SignalTorture.self,
        ClockTorture.self, FuzzTorture.self, SanitizerTorture.self, LivenessTorture.self,
        SimulationTorture.self,
    ]

    /// A row: name, what was tried, how often, how often it held, and the notes.
    public static func row(_ kind: any TortureClass.Type, _ tally: Tally) -> String {
        guard tally.reasonNotRun == nil else {
            return
                "| \(kind.name) | \(kind.title) | – | not run here | \(tally.reasonNotRun ?? "") |"
        }
        let notes = tally.notes.joined(separator: "; ")
        return "| \(kind.name) | \(kind.title) | \(tally.tried) | \(tally.held) | \(notes) |"
    }

    /// A page with its table replaced: rows of classes that were not run now stay.
    ///
    /// - Returns: nil when the page has no markers.
    public static func page(_ page: String, with rows: [String]) -> String? {
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard let first = lines.firstIndex(of: begin), let last = lines.lastIndex(of: end),
            first < last
        else { return nil }
        func name(_ row: String) -> String {
            row.split(separator: "|").first.map { $0.trimmingSpaces } ?? ""
        }
        var table: [String: String] = [:]
        for row in lines[first..<last] where row.hasPrefix("| R") { table[name(row)] = row }
        for row in rows { table[name(row)] = row }
        func number(_ name: String) -> Int { Int(name.dropFirst()) ?? 0 }
        let sorted = table.sorted { number($0.key) < number($1.key) }.map(\.value)
        return (lines[...first] + header + sorted + lines[last...]).joined(separator: "\n")
    }

    private static let begin = "<!-- torture: begin -->"
    private static let end = "<!-- torture: end -->"
    private static let header = [
        "| class | tried | times | held | notes |", "|---|---|---:|---:|---|",
    ]
}

extension Substring {
    fileprivate var trimmingSpaces: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
