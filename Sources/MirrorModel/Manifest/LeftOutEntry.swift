/// An entry of a list that was not taken, and why.
public struct LeftOutEntry: Sendable, Hashable {
    /// What the list calls it: a URL, a path, the name of a package, or a line; at most 1,024 bytes of it. Queries and passwords of
    /// URLs are not in it.
    public let name: String
    /// The line in the list, from 1; 0 where it has no lines.
    public let line: Int
    /// The column in the line, in Unicode scalars from 1.
    public let column: Int
    /// Why it was not taken.
    public let reason: String

    /// The greatest length of a name that is kept, in bytes.
    private static let longestName = 1024

    /// Whether a text may be a URL with a password or a query, perhaps without its scheme.
    private static func mayBeURL(_ name: String) -> Bool {
        if name.contains("://") { return true }
        guard let (user, _) = name.halves(atFirst: "@") else {
            return name.contains("?") && !name.hasPrefix("magnet:")
        }
        return user.contains(":") && !user.contains("/")
    }

    /// Takes an entry; a column of 0 where the line is 0.
    package init(_ name: String, _ reason: String, line: Int, column: Int) {
        let name =
            name.utf8.count <= LeftOutEntry.longestName
            ? name : String(decoding: name.utf8.prefix(LeftOutEntry.longestName), as: UTF8.self)
        self.name = LeftOutEntry.mayBeURL(name) ? QuotedURL.withoutSecrets(name) : name
        (self.line, self.column) = (line, column)
        self.reason = reason
    }
}

extension [LeftOutEntry] {
    /// A sentence for each reason: how many entries it leaves out, and the names of the first.
    ///
    /// - Parameter most: how many names all sentences have together.
    package func sentences(most: Int = 20) -> [String] {
        var order: [String] = []
        var groups: [String: (count: Int, names: [String])] = [:]
        var room = most
        for entry in self {
            if groups[entry.reason] == nil { order.append(entry.reason) }
            groups[entry.reason, default: (0, [])].count += 1
            guard room > 0 else { continue }
            room -= 1
            let place = entry.line > 0 ? " (line \(entry.line))" : ""
            groups[entry.reason]?.names.append("\(Escaped(entry.name, limit: 80))\(place)")
        }
        let shown = order.prefix(Swift.max(most, 1)).compactMap { reason in
            groups[reason].map { sentence(reason, count: $0.count, names: $0.names) }
        }
        return order.count > shown.count
            ? shown + ["\(Counted(order.count - shown.count, "further reason"))"] : shown
    }

    private func sentence(_ reason: String, count: Int, names: [String]) -> String {
        let more = count > names.count && !names.isEmpty ? " and \(count - names.count) more" : ""
        let list = names.isEmpty ? "" : ": " + names.joined(separator: ", ") + more
        return "\(Counted(count, "entry", plural: "entries")) left out, \(reason)\(list)"
    }
}

extension LeftOutEntry {
    /// Writes the entry as an object.
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("name", name)
            json.member("line", line > 0 ? line : nil)
            json.member("column", line > 0 ? column : nil)
            json.member("reason", reason)
        }
    }
}
