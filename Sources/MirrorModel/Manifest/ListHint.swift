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
