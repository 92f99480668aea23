import MirrorKit
import MirrorModel
import Synchronization

/// Shows what is in the tree: a JSON document with each file for scripts; for people the totals, what
/// needs attention, and with `-v` a line for each file.
final class StatusOutput: Sendable {
    private struct State {
        var dashboard = TreeTotals()
        var json = JSONWriter()
        var lines = LineBuffer()
        /// The lines about files; nil once they are too many to be kept until the totals are known.
        var list: [UInt8]? = []
    }

    /// Bytes of lines that are kept until the totals are known.
    private static let mostKept = 4 << 20

    private let options: any OutputChoices
    /// A copy: the parser's own value is dear to ask for a million times.
    private let isJSON: Bool
    private let root: String
    private let runs: [PastRun]
    /// The files that the last run failed, or left stale.
    private let troubles: [Target: Outcome]
    private let style: TextStyle
    private let now: Instant
    private let clock: LocalClock
    private let state = Mutex(State())

    /// Whether only some files are counted.
    private let isSelection: Bool
    /// Whether each file that is counted has a line.
    private let lists: Bool

    /// Makes an output to which nothing has been printed; `runs` are the last ones, newest first, and
    /// `troubles` the files that the last of them failed, or left stale.
    init(
        options: any OutputChoices, root: String, runs: [PastRun], troubles: [Target: Outcome],
        isSelection: Bool
    ) {
        self.options = options
        isJSON = options.json
        self.root = root
        self.runs = runs
        self.troubles = troubles
        self.isSelection = isSelection
        lists = !options.json && !options.quiet && (options.verbose || isSelection)
        now = Instant.now
        clock = .ofThisProcess(now: now)
        style = TextStyle(isColored: options.usesColor(on: .output))
    }

    /// Begins the document, or the report.
    func begin() {
        state.withLock { state in
            guard options.json else { return state.lines.line("root \(root.printable)") }
            state.json.beginObject()
            state.json.member("v", 1)
            state.json.member("root", root)
            state.json.key("files")
            state.json.beginArray()
        }
    }

    /// Counts a file, and writes it to the document.
    func count(_ file: StoredFile) {
        state.withLock { state in
            state.dashboard.add(file, ended: troubles[file.target])
            if lists { keep(line(file), &state) }
            guard isJSON else { return }
            file.write(to: &state.json)
            flushIfMuch(&state)
        }
    }

    /// Counts a file that needs no attention, and writes it to the document.
    func count(_ file: borrowing IntactFile) {
        state.withLock { state in
            // Few runs leave troubles, and a million lookups take time.
            let outcome = troubles.isEmpty ? nil : troubles[file.target]
            state.dashboard.add(file, ended: outcome)
            if lists, state.list != nil { keep(line(file.outline), &state) }
            guard isJSON else { return }
            file.write(to: &state.json)
            flushIfMuch(&state)
        }
    }

    private func keep(_ line: String, _ state: inout State) {
        guard let count = state.list?.count else { return }
        if count > StatusOutput.mostKept { return state.list = nil }
        state.list?.append(contentsOf: line.utf8)
        state.list?.append(UInt8(ascii: "\n"))
    }

    private func flushIfMuch(_ state: inout State) {
        if state.json.bytes.count > 64 << 10 { Console.output.write(bytes: state.json.take()) }
    }

    /// Prints the totals, what needs attention, and the lines about files; ends the document.
    ///
    /// Returns whether the lines are still to be listed, because they were too many to be kept.
    func conclude() -> Bool {
        state.withLock { state in
            if options.json {
                endDocument(&state)
                return false
            }
            let dashboard = state.dashboard
            if !options.quiet {
                let isEmpty = dashboard.counts.isEmpty
                state.lines.line(
                    isEmpty
                        ? isSelection ? "No file is selected." : "Nothing is here yet."
                        : dashboard.line(good: lastGood, last: counted, clock: clock))
                if let last = lastEnded, last.summary?.exit != 0 {
                    state.lines.line(failure(of: last))
                }
            }
            for group in dashboard.attention {
                state.lines.line(group.heading)
                for target in group.targets { state.lines.line("  " + target.path.printable) }
                if group.more > 0 { state.lines.line("  and \(group.more) more (-v lists all)") }
            }
            state.lines.flush()
            if let list = state.list, !list.isEmpty { Console.output.write(bytes: list) }
            return state.list == nil
        }
    }

    /// Prints a line for a file.
    func list(_ file: StoredFile) { state.withLock { $0.lines.line(line(file)) } }

    /// Prints a line for a file that needs no attention.
    func list(_ file: borrowing IntactFile) {
        let line = line(file.outline)
        state.withLock { $0.lines.line(line) }
    }

    /// Prints what is still in the buffer.
    func flush() { state.withLock { $0.lines.flush() } }

    /// The run whose numbers are those of the files that are counted.
    private var counted: PastRun? { isSelection ? nil : lastEnded }
    private var lastEnded: PastRun? { runs.first { $0.summary != nil } }
    private var lastGood: PastRun? { runs.first { $0.summary?.exit == 0 } }

    private func failure(of run: PastRun) -> String {
        let count = run.summary?[.failed] ?? 0
        let failed = count > 0 ? ", \(count) failed" : ""
        return "The last run ended with exit \(run.summary?.exit ?? 0)\(failed) "
            + "(\(clock.description(of: run.startedAt))); mirror history and mirror why say more."
    }

    private func endDocument(_ state: inout State) {
        state.json.endArray()
        state.json.key("totals")
        let dashboard = state.dashboard
        state.json.object { json in
            dashboard.writeMembers(to: &json)
            json.member("stale", dashboard.stale(counted))
            json.member("lastGoodRun", lastGood?.startedAt.rfc3339)
        }
        state.json.endObject()
        state.json.newline()
        Console.output.write(bytes: state.json.take())
    }

    private func line(_ file: StoredFile) -> String {
        let meaning: TextStyle.Meaning =
            switch file.state {
            case .intact: .good
            case .evicted: .neutral
            case .changed, .untracked, .conflict: .warning
            case .missing, .obstructed: .failure
            }
        var text = style.label(file.state.rawValue, meaning) + file.target.path.printable
        if let size = file.size { text += "  \(ByteCount(size))" }
        var remarks: [String] = []
        if let target = file.conflictOf {
            remarks.append("made room for \(target.path.printable); mirror resolve ends that")
        }
        switch file.verified {
        case .digest: remarks.append("verified by digest")
        case .size: remarks.append("verified by size only")
        case .some(.none): remarks.append("not verified")
        case nil: break
        }
        if file.isOrphan { remarks.append("no manifest wants it") }
        if troubles[file.target] == .failed { remarks.append("failed in the last run") }
        if troubles[file.target] == .stale { remarks.append("stale") }
        if let confirmed = file.confirmedAt {
            remarks.append("confirmed \(clock.description(of: confirmed))")
        }
        switch file.freshness {
        case .due: remarks.append("due")
        case .fresh(let until?): remarks.append("fresh until \(clock.description(of: until))")
        case .fresh(nil), nil: break
        }
        if file.partBytes > 0 { remarks.append("\(ByteCount(file.partBytes)) of it fetched") }
        return remarks.isEmpty ? text : text + style.faint("  (\(remarks.joined(separator: ", ")))")
    }
}
