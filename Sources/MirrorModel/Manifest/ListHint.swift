/// What is known of a list besides its text: its format, where its files are, and its name.
///
/// All of it may be unknown. A manifest of mirror's own needs none of it.
public struct ListHint: Sendable, Hashable {
    /// The format; nil detects it from the text.
    public var format: ListFormat?
    /// The folder at which names without a URL are found: a URL that ends in a slash.
    public private(set) var base: SourceURL?
    /// The name that the list gets as a manifest; nil stands for the stem of its file's name.
    public var name: String?
    /// The package index at which files are found by their digests: a URL that ends in a slash.
    public private(set) var index: SourceURL?
    /// The registry of npm at which packages without a URL are found: a URL that ends in a slash.
    public private(set) var registry: SourceURL?
    /// How many levels of folders of a directory listing are read; nil stands for 5.
    public var depth: Int?
    /// The part of a list that is read; nil for its first document.
    package var part: ListPart?
    /// The URL that answered, after redirects; nil for a text that came otherwise.
    package var answeredBy: SourceURL?
    /// Whether the answer says that the list goes on elsewhere.
    package var goesOn = false
    /// Whether a manifest is read without the hint; otherwise the hint refuses it.
    package var isForListsOnly = false

    /// Knows nothing.
    public init() {}

    /// Takes a format and the URLs of folders, to whose paths a slash is added where none ends them.
    ///
    /// Throws `MirrorError` with `usage` for a URL with a user name, a password or a query, which
    /// would be remembered.
    public init(
        format: ListFormat?, base: SourceURL?, name: String? = nil, index: SourceURL? = nil,
        registry: SourceURL? = nil, depth: Int? = nil
    ) throws(MirrorError) {
        (self.format, self.name, self.depth) = (format, name, depth)
        self.base = try base.map { url throws(MirrorError) in try ListHint.folder(url, "a base") }
        self.index = try index.map { url throws(MirrorError) in
            try ListHint.folder(url, "an index")
        }
        self.registry = try registry.map { url throws(MirrorError) in
            try ListHint.folder(url, "a registry")
        }
    }

    /// The depth to which directory listings are followed where nothing else is said.
    package static let defaultDepth = 5

    /// Whether nothing is known.
    public var isEmpty: Bool {
        format == nil && base == nil && name == nil && index == nil && registry == nil
            && depth == nil
    }

    /// The hint as it is remembered: without what belongs to one answer.
    package var lasting: ListHint {
        var hint = self
        (hint.part, hint.answeredBy, hint.goesOn) = (nil, nil, false)
        return hint
    }

    /// The hint for a list that names no file without a URL.
    package var withoutBase: ListHint {
        var hint = self
        hint.base = nil
        return hint
    }

    private static func folder(_ url: SourceURL, _ noun: String) throws(MirrorError) -> SourceURL {
        guard url.userInfo == nil, url.query == nil else {
            throw MirrorError(
                .usage,
                "\(url): \(noun) has no user name, password or query, because it is remembered. Put passwords into ~/.netrc."
            )
        }
        guard url.path.utf8.last != UInt8(ascii: "/") else { return url }
        return (try? SourceURL("/." + url.path + "/", relativeTo: url)) ?? url
    }
}

extension ListHint {
    /// The hint as the index keeps it: a line for each thing known; empty for nothing.
    package var text: String {
        let lines = [
            format.map { "from " + $0.rawValue }, base.map { "base " + $0.textWithSecrets },
            index.map { "index " + $0.textWithSecrets },
            registry.map { "registry " + $0.textWithSecrets }, depth.map { "depth \($0)" },
        ]
        return lines.compactMap(\.self).joined(separator: "\n")
    }

    /// Reads what `text` gave; lines that make no sense are ignored.
    package init(text: String) {
        for line in text.split(separator: "\n") {
            guard let (word, value) = line.halves(atFirst: " ") else { continue }
            switch word {
            case "from": format = ListFormat(rawValue: String(value))
            case "base": base = try? SourceURL(String(value))
            case "index": index = try? SourceURL(String(value))
            case "registry": registry = try? SourceURL(String(value))
            case "depth": depth = Int(value)
            default: break
            }
        }
    }
}

/// A further document that a list consists of.
package enum ListPart: Sendable, Hashable {
    /// The list goes on there.
    case page(SourceURL)
    /// A folder of a directory listing.
    case folder(ListedFolder)
    /// What a package index has of a project.
    case project(IndexedProject)

    /// Whether the document before it goes on there.
    package var isNextPage: Bool {
        switch self {
        case .page: true
        case .folder(let folder): folder.isNextPage
        case .project: false
        }
    }

    /// Where it is.
    package var url: SourceURL {
        switch self {
        case .page(let url): url
        case .folder(let folder): folder.url
        case .project(let project): project.url
        }
    }
}

/// A folder of a directory listing.
package struct ListedFolder: Sendable, Hashable {
    /// Where its listing is; it ends in a slash.
    package var url: SourceURL
    /// Its path within the folder that was asked for, decoded, with a slash at its end; empty for that folder.
    package var path: String
    /// How many levels it is below the folder that was asked for.
    package var depth: Int
    /// Whether it is a further page of the folder's listing.
    package var isNextPage = false

    /// Takes a folder.
    package init(url: SourceURL, path: String = "", depth: Int = 0) {
        (self.url, self.path, self.depth) = (url, path, depth)
    }
}

/// A project of which a list names files by their digests.
package struct IndexedProject: Sendable, Hashable {
    /// The project's page at the index (PEP 503, PEP 691).
    package var url: SourceURL
    /// The name as the list has it.
    package var name: String
    /// The digests of its files.
    package var digests: [Digest]
    /// Where the list names it: the line and the column.
    package var line: Int
    package var column: Int

    /// Takes a project.
    package init(url: SourceURL, name: String, digests: [Digest], line: Int, column: Int) {
        (self.url, self.name, self.digests) = (url, name, digests)
        (self.line, self.column) = (line, column)
    }
}

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
        self.name = LeftOutEntry.mayBeURL(name) ? URLSecrets.hidden(in: name) : name
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
