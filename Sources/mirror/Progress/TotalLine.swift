import MirrorModel

/// The last line of a frame: how far the whole is. It sheds detail until it fits, and never the time
/// that is left.
struct TotalLine {
    /// What is counted, such as `12 of 5,000 files`, and the same in short.
    var count = ""
    var shortCount = ""
    /// The share that is done, from 0 to 1; nil where nobody knows.
    var share: Double?
    /// The bytes, and what of them is unknown.
    var bytes = ""
    var unknown = ""
    var rate = ""
    var failed = ""
    var elapsed = ""
    /// Seconds until the end; nil where nobody knows.
    var secondsLeft: Int64?

    /// The details that go, one after the other, when there is no room for them.
    private enum Detail: CaseIterable {
        case bar, unknown, elapsed, bytes, longCount, rate, failed, count, share
    }

    /// The line in at most so many columns.
    func text(columns: Int, style: ProgressStyle) -> String {
        for shed in 0...Detail.allCases.count {
            let kept = Set(Detail.allCases.dropFirst(shed))
            let parts = parts(kept)
            let width = parts.reduce(0) { $0 + TerminalFrame.width(of: $1) } + 2 * (parts.count - 1)
            let room = columns - width
            guard room >= 0 else { continue }
            guard kept.contains(.bar), let share else {
                return parts.joined(separator: "  ")
            }
            guard room >= 12 else { continue }
            let bar = style.bar(share, columns: min(40, room - 2))
            return ([parts[0], bar] + parts.dropFirst()).joined(separator: "  ")
        }
        return left.clipped(toColumns: columns)
    }

    private func parts(_ kept: Set<Detail>) -> [String] {
        var parts: [String] = []
        if kept.contains(.count) { parts.append(kept.contains(.longCount) ? count : shortCount) }
        if kept.contains(.share), let share { parts.append("\(Int(share * 100)) %") }
        if kept.contains(.bytes) {
            parts.append(bytes + (kept.contains(.unknown) ? unknown : ""))
        }
        if kept.contains(.rate) { parts.append(rate) }
        if kept.contains(.failed) { parts.append(failed) }
        parts.append(left)
        if kept.contains(.elapsed) { parts.append(elapsed) }
        return parts.filter { !$0.isEmpty }
    }

    private var left: String {
        secondsLeft.map { "\(DurationText(seconds: $0)) left" } ?? "? left"
    }
}

/// How bars and remarks look on a terminal.
struct ProgressStyle: Sendable, Hashable {
    /// Whether colours are used.
    var isColored = false
    /// Whether the terminal shows characters beyond ASCII.
    var isUnicode = true

    /// A bar of so many columns.
    func bar(_ share: Double, columns: Int) -> String {
        let count = max(0, min(columns, Int((share * Double(columns)).rounded(.down))))
        let done = String(repeating: isUnicode ? "━" : "=", count: count)
        let rest = String(repeating: isUnicode ? "╌" : "-", count: columns - count)
        return paint(done, "32") + paint(rest, "2")
    }

    /// A remark that stands back.
    func faint(_ text: String) -> String { paint(text, "2") }

    /// A remark that asks for attention.
    func warning(_ text: String) -> String { paint(text, "33") }

    private func paint(_ text: String, _ code: String) -> String {
        isColored && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
