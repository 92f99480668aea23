import MirrorKit
import MirrorModel

/// Shows which entries a manifest gained or lost.
struct AdditionOutput {
    let options: any OutputChoices
    let manifest: String

    /// Prints new entries.
    func show(_ entries: [NewEntry], isNew: Bool) {
        if options.json {
            return write { json in
                json.member("new", isNew)
                json.key("added")
                json.array { json in
                    for entry in entries {
                        json.object {
                            $0.member("path", entry.target.path)
                            $0.member("url", entry.url.description)
                        }
                    }
                }
            }
        }
        let style = TextStyle(isColored: options.usesColor(on: .output))
        for entry in entries {
            Console.output.line(
                style.label("added", .good) + entry.target.path.printable
                    + style.faint("  (\(entry.url.description.printable))"))
        }
        let verb = isNew ? "made, with" : "has"
        let more = isNew ? "" : " more"
        Console.output.line(
            "\(manifest.printable) \(verb) \(entries.count)\(more) \(Counted.verb(entries.count, "entry", "entries"))."
        )
    }

    /// Prints targets whose entries are gone.
    func show(removed targets: [Target]) {
        if options.json {
            return write { $0.member("removed", targets.map(\.path)) }
        }
        let style = TextStyle(isColored: options.usesColor(on: .output))
        for target in targets {
            Console.output.line(style.label("removed", .warning) + target.path.printable)
        }
        Console.output.line(
            "Files that were fetched stay until mirror sync --prune \(manifest.printable).")
    }

    private func write(_ members: (inout JSONWriter) -> Void) {
        var json = JSONWriter()
        json.object { json in
            json.member("v", 1)
            json.member("manifest", manifest)
            members(&json)
        }
        json.newline()
        Console.output.write(bytes: json.bytes)
    }
}
