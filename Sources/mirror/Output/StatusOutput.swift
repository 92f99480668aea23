import MirrorKit
import MirrorModel
import Synchronization

/// Shows each file of the tree as soon as it was looked at, and the numbers at the end.
///
/// The output is a JSON document for scripts, or a line per file for people.
final class StatusOutput: Sendable {
    private struct State {
        var hasBegun = false
        var json = JSONWriter()
        var lines = LineBuffer()
        var counts: [StoredFile.State: Int] = [:]
        var bytes: Int64 = 0
        var due = 0
    }

    private let options: any OutputChoices
    private let root: String
    private let style: TextStyle
    private let now: Instant
    private let clock: LocalClock
    private let state = Mutex(State())

    /// Makes an output to which nothing has been printed.
    init(options: any OutputChoices, root: String) {
        self.options = options
        self.root = root
        now = MirrorSession.clock()
        clock = .ofThisProcess(now: now)
        style = TextStyle(isColored: options.usesColor(on: .output))
    }

    /// Prints a file to standard output.
    func show(_ file: StoredFile) {
        state.withLock { state in
            begin(&state)
            state.counts[file.state, default: 0] += 1
            state.bytes = state.bytes.addingSaturated(file.size ?? 0)
            if case .due = file.freshness { state.due += 1 }
            if options.json {
                file.write(to: &state.json, now: now)
                if state.json.bytes.count > 64 << 10 {
                    Console.output.write(bytes: state.json.take())
                }
            } else if !options.quiet || file.state != .intact {
                state.lines.line(line(file))
            }
        }
    }

    /// Prints the numbers.
    func end() {
        state.withLock { state in
            begin(&state)
            if options.json { return endDocument(&state) }
            if !options.quiet { state.lines.line(totals(state)) }
            state.lines.flush()
        }
    }

    private func begin(_ state: inout State) {
        guard !state.hasBegun else { return }
        state.hasBegun = true
        guard options.json else { return state.lines.line("root \(root.printable)") }
        state.json.beginObject()
        state.json.member("v", 1)
        state.json.member("root", root)
        state.json.key("files")
        state.json.beginArray()
    }

    private func endDocument(_ state: inout State) {
        state.json.endArray()
        state.json.key("totals")
        let (counts, bytes) = (state.counts, state.bytes)
        state.json.object { json in
            for kind in StoredFile.State.allCases {
                json.member(kind.rawValue, counts[kind] ?? 0)
            }
            json.member("bytes", bytes)
        }
        state.json.endObject()
        state.json.newline()
        Console.output.write(bytes: state.json.take())
    }

    private func totals(_ state: State) -> String {
        let counts = StoredFile.State.allCases.compactMap { kind in
            state.counts[kind].map { "\($0) \(kind.rawValue)" }
        }
        return counts.isEmpty
            ? "Nothing is here yet."
            : "\(counts.joined(separator: ", ")); \(ByteCount(state.bytes)), \(state.due) due."
    }

    private func line(_ file: StoredFile) -> String {
        let meaning: TextStyle.Meaning =
            switch file.state {
            case .intact: .good
            case .changed, .untracked, .conflict: .warning
            case .missing, .obstructed: .failure
            }
        var text = style.label(file.state.rawValue, meaning) + file.target.path.printable
        if let size = file.size { text += "  \(ByteCount(size))" }
        var remarks: [String] = []
        if let target = file.conflictOf {
            remarks.append("made room for \(target.path.printable); mirror resolve ends that")
        }
        if let verified = file.verified { remarks.append("verified by \(verified.rawValue)") }
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
