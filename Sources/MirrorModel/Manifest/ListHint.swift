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
    /// Whether a manifest is read without the hint; otherwise the hint refuses it.
    package var isForListsOnly = false

    /// Knows nothing.
    public init() {}

    /// Takes a format and a base, to whose path a slash is added where none ends it.
    ///
    /// Throws `MirrorError` with `usage` for a base with a user name, a password or a query, which
    /// would be remembered.
    public init(format: ListFormat?, base: SourceURL?, name: String? = nil) throws(MirrorError) {
        (self.format, self.name) = (format, name)
        guard let base else { return }
        guard base.userInfo == nil, base.query == nil else {
            throw MirrorError(
                .usage,
                "\(base): a base has no user name, password or query, because it is remembered. Put passwords into ~/.netrc."
            )
        }
        self.base = ListHint.folder(base)
    }

    /// Whether nothing is known.
    public var isEmpty: Bool { format == nil && base == nil && name == nil }

    /// The hint for a list that names no file without a URL.
    package var withoutBase: ListHint {
        var hint = self
        hint.base = nil
        return hint
    }

    private static func folder(_ url: SourceURL) -> SourceURL {
        guard url.path.utf8.last != UInt8(ascii: "/") else { return url }
        return (try? SourceURL("/." + url.path + "/", relativeTo: url)) ?? url
    }
}

extension ListHint {
    /// The hint as the index keeps it: a line for each thing known; empty for nothing.
    package var text: String {
        let lines = [
            format.map { "from " + $0.rawValue }, base.map { "base " + $0.textWithSecrets },
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
            default: break
            }
        }
    }
}
