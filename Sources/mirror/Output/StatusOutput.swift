import MirrorKit
import MirrorModel

/// Shows what is in the tree: a JSON document for scripts, or a line a file for people.
struct StatusOutput {
    let options: OutputOptions
    let root: String

    /// Prints the files to standard output.
    func show(_ files: [StoredFile]) {
        let now = MirrorSession.clock()
        if options.json { return document(files, now: now) }
        let style = TextStyle(isColored: options.usesColor(on: .output))
        Console.output.line("root \(root.printable)")
        for file in files where !options.quiet || file.state != .intact {
            Console.output.line(line(file, style, now: now))
        }
        guard !options.quiet else { return }
        let counts = StoredFile.State.allCases.compactMap { state in
            let count = files.count { $0.state == state }
            return count > 0 ? "\(count) \(state.rawValue)" : nil
        }
        let bytes = files.reduce(Int64(0)) { $0.addingSaturated($1.size ?? 0) }
        let due = files.count { if case .due = $0.freshness { true } else { false } }
        Console.output.line(
            counts.isEmpty
                ? "Nothing is here yet."
                : "\(counts.joined(separator: ", ")); \(ByteCount(bytes)), \(due) due.")
    }

    private func line(_ file: StoredFile, _ style: TextStyle, now: Instant) -> String {
        let meaning: TextStyle.Meaning =
            switch file.state {
            case .intact: .good
            case .changed, .stranger: .warning
            case .missing, .obstructed: .failure
            }
        var text = style.label(file.state.rawValue, meaning) + file.target.path.printable
        if let size = file.size { text += "  \(ByteCount(size))" }
        var remarks: [String] = []
        if let verified = file.verified { remarks.append("verified by \(verified.rawValue)") }
        if let confirmed = file.confirmedAt {
            remarks.append("confirmed \(DurationText(seconds: now.seconds(since: confirmed))) ago")
        }
        switch file.freshness {
        case .due: remarks.append("due")
        case .fresh(let until?): remarks.append("fresh until \(until.rfc3339)")
        case .fresh(nil), nil: break
        }
        if file.partBytes > 0 { remarks.append("\(ByteCount(file.partBytes)) of it fetched") }
        return remarks.isEmpty ? text : text + style.faint("  (\(remarks.joined(separator: ", ")))")
    }

    private func document(_ files: [StoredFile], now: Instant) {
        var json = JSONWriter()
        json.beginObject()
        json.member("v", 1)
        json.member("root", root)
        json.key("files")
        json.beginArray()
        for file in files {
            file.write(to: &json, now: now)
            if json.bytes.count > 64 << 10 { Console.output.write(bytes: json.take()) }
        }
        json.endArray()
        json.key("totals")
        json.object { json in
            for state in StoredFile.State.allCases {
                json.member(state.rawValue, files.count { $0.state == state })
            }
            json.member("bytes", files.reduce(Int64(0)) { $0.addingSaturated($1.size ?? 0) })
        }
        json.endObject()
        json.newline()
        Console.output.write(bytes: json.take())
    }
}
