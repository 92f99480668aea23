internal import Glibc

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

    /// The row of a class, as it is printed and as it stands on the page.
    ///
    /// - Parameter day: when the class was run, e.g. `2026-11-29`.
    public static func row(
        _ kind: any TortureClass.Type, _ tally: Tally, on day: String = today()
    ) -> String {
        let times = tally.reasonNotRun == nil ? "\(tally.tried)" : "–"
        let held = tally.reasonNotRun == nil ? "\(tally.held)" : "not run here"
        return "| \(kind.name) | \(kind.title) | \(times) | \(held) | \(day) |"
    }

    /// A page with its table replaced: rows of classes that were not run now stay.
    ///
    /// - Parameter rows: each as `row` makes it.
    /// - Returns: nil when the page has no markers.
    public static func page(_ page: String, with rows: [String]) -> String? {
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard let first = lines.firstIndex(of: begin), let last = lines.lastIndex(of: end),
            first < last
        else { return nil }
        var table: [Int: String] = [:]
        for line in Array(lines[first..<last]) + rows where line.hasPrefix("| R") {
            table[Int(line.dropFirst(3).prefix(while: \.isNumber)) ?? 0] = line
        }
        let sorted = table.keys.sorted().compactMap { table[$0] }
        return (lines[...first] + header + sorted + lines[last...]).joined(separator: "\n")
    }

    /// Today in UTC, e.g. `2026-11-29`.
    public static func today() -> String {
        var now = time(nil)
        var parts = tm()
        gmtime_r(&now, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
    }

    private static let begin = "<!-- torture: begin -->"
    private static let end = "<!-- torture: end -->"
    private static let header = [
        "| class | tried | times | held | last run |", "|---|---|---:|---:|---|",
    ]
}
