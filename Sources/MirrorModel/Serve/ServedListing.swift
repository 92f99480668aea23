/// A page of a folder's listing.
package struct ServedListing: Sendable, Hashable {
    /// A file or folder in it.
    package struct Entry: Sendable, Hashable {
        /// Its name.
        package var name: String
        /// What is known of a file; nil for a folder.
        package var file: File?

        package init(name: String, file: File? = nil) {
            self.name = name
            self.file = file
        }
    }

    /// The facts about a file.
    package struct File: Sendable, Hashable {
        package var size: Int64
        package var modified: Instant
        package var sha256: Digest

        package init(size: Int64, modified: Instant, sha256: Digest) {
            self.size = size
            self.modified = modified
            self.sha256 = sha256
        }
    }

    /// How many entries a page has: memory does not grow with a folder.
    package static let mostEntries = 5000

    /// The folder's path; empty for the root.
    package var path: String
    /// The entries, in the order of their bytes.
    package private(set) var entries: [Entry] = []
    /// Whether there are more behind the last.
    package private(set) var isCut = false

    package init(path: String) { self.path = path }

    /// Adds the next entry; true if the page is full, and the entry is on the next one.
    package mutating func add(_ entry: Entry) -> Bool {
        isCut = entries.count >= ServedListing.mostEntries
        if !isCut { entries.append(entry) }
        return isCut
    }

    /// The listing as an answer, in HTML or JSON.
    package func answer(asJSON: Bool) -> ServedAnswer {
        var answer = ServedAnswer(status: 200)
        answer.fields = [
            ("Content-Type", asJSON ? "application/json" : "text/html; charset=utf-8"),
            ("Cache-Control", "no-cache"), ("Vary", "Accept"),
            ("X-Content-Type-Options", "nosniff"),
            ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"),
        ]
        if let next { answer.fields.append(("Link", "<\(next)>; rel=\"next\"")) }
        answer.body = .text(asJSON ? json : Array(html.utf8))
        return answer
    }

    /// The reference to the next page; nil on the last.
    private var next: String? {
        guard isCut, let last = entries.last else { return nil }
        return "?after=" + SourceURL.queryValue(last.name + (last.file == nil ? "/" : ""))
    }

    private var json: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("v", 1)
            json.member("path", path)
            json.member("next", next)
            json.key("entries")
            json.array { json in
                for entry in entries {
                    json.object { json in
                        json.member("name", entry.name)
                        json.member("type", entry.file == nil ? "folder" : "file")
                        json.member("size", entry.file?.size)
                        json.member("modified", entry.file?.modified.rfc3339)
                        json.member("sha256", entry.file?.sha256.hex)
                    }
                }
            }
        }
        json.newline()
        return json.take()
    }

    /// A time to the minute, e.g. `2026-11-24 15:45 UTC`.
    private static func text(of time: Instant) -> String {
        let text = time.rfc3339
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(5)) UTC"
    }

    private var html: String {
        // So it calls itself a listing, to people and to programs.
        let title = "Index of " + HTMLText.escaped(path.isEmpty ? "/" : "/\(path)/")
        var rows = ""
        if !path.isEmpty { rows += "<tr><td><a href=\"../\">../</a>\n" }
        for entry in entries {
            let slash = entry.file == nil ? "/" : ""
            let reference = HTMLText.escaped(SourceURL.reference(toName: entry.name) + slash)
            rows += "<tr><td><a href=\"\(reference)\">\(HTMLText.escaped(entry.name))\(slash)</a>"
            if let file = entry.file {
                let time = ServedListing.text(of: file.modified)
                rows += "<td>\(ByteCount(file.size))<td>\(time)"
            }
            rows += "\n"
        }
        if let next { rows += "<tr><td><a href=\"\(HTMLText.escaped(next))\">more</a>\n" }
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><title>\(title)</title>
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <style>
            :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
            body { margin: 1rem auto; max-width: 60rem; padding: 0 1rem; overflow-wrap: anywhere;
              background: Canvas; color: CanvasText }
            h1 { font-size: 1.5rem }
            td { padding: .2rem 1rem .2rem 0; vertical-align: top }
            td + td { white-space: nowrap; text-align: right; font-variant-numeric: tabular-nums }
            @media (max-width: 40rem) {
              table, tbody, tr { display: block }
              tr { padding: .5rem 0; border-top: 1px solid GrayText }
              td { display: block; padding: 0 }
              td + td { display: inline-block; padding-right: 1rem; font-size: .875rem }
            }
            </style></head><body><h1>\(title)</h1><table>
            \(rows)</table></body></html>

            """
    }
}

/// Text in HTML.
package enum HTMLText {
    /// A text as content or as a quoted attribute; characters that would be invisible, or change the
    /// direction of others, are shown by number.
    package static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.printable.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
