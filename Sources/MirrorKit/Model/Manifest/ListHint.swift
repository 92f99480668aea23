/// What is known of a list besides its text: its format, where its files are, and its name.
///
/// Every value may be unknown. A mirror manifest needs no hint.
package struct ListHint: Sendable, Hashable {
    /// The format. `nil` means that mirror detects the format from the text.
    var format: ListFormat?
    /// The URL of the folder with the files for which the list gives no URL. Ends in a slash.
    private(set) var base: SourceURL?
    /// The name of the list as a manifest. `nil` stands for the stem of its file's name.
    var name: String?
    /// The URL of the package index in which mirror finds files by their digests. Ends in a slash.
    private(set) var index: SourceURL?
    /// The URL of the npm registry that has packages without a URL. Ends in a slash.
    private(set) var registry: SourceURL?
    /// How many levels of folders mirror reads of a directory listing. `nil` stands for 5.
    var depth: Int?
    /// The document of the list that mirror reads. `nil` stands for the first one.
    var part: ListPart?
    /// The URL that sent the list, after redirects. `nil` means that no URL is known.
    var answeredBy: SourceURL?
    /// Whether the response names a next page of the list.
    var goesOn = false
    /// Whether mirror ignores the hint if the text is a manifest.
    ///
    /// If false, a manifest with a named format or base is refused.
    var isForListsOnly = false

    /// Creates a hint in which nothing is known.
    package init() {}

    /// Creates a hint. Adds a slash to the path of each URL whose path does not end in one.
    ///
    /// Throws `MirrorError` with `usage` for a URL with a user name, a password or a query, because
    /// the root remembers the hint.
    package init(
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

    /// The default number of levels of folders that mirror reads of a directory listing.
    package static let defaultDepth = 5

    /// Whether nothing is known.
    var isEmpty: Bool {
        format == nil && base == nil && name == nil && index == nil && registry == nil
            && depth == nil
    }

    /// The hint as the root remembers it: without the values that belong to one response.
    var lasting: ListHint {
        var hint = self
        (hint.part, hint.answeredBy, hint.goesOn) = (nil, nil, false)
        return hint
    }

    /// The hint without its base, for a list in which each file has a URL.
    var withoutBase: ListHint {
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
    /// The hint as the index stores it: one line for each known value.
    var lines: [String] {
        [
            format.map { "from " + $0.rawValue }, base.map { "base " + $0.textWithSecrets },
            index.map { "index " + $0.textWithSecrets },
            registry.map { "registry " + $0.textWithSecrets }, depth.map { "depth \($0)" },
        ].compactMap(\.self)
    }

    /// Creates a hint from the lines that `lines` returned. Other lines are ignored.
    init(lines text: String) {
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

/// A document that belongs to a list, besides the first one.
enum ListPart: Sendable, Hashable {
    /// The next page of the list.
    case page(SourceURL)
    /// The listing of a folder within a directory listing.
    case folder(ListedFolder)
    /// A project's page at a package index, which lists the project's files.
    case project(IndexedProject)

    /// Whether this document continues the document before it.
    var isNextPage: Bool {
        switch self {
        case .page: true
        case .folder(let folder): folder.isNextPage
        case .project: false
        }
    }

    /// The document's URL.
    var url: SourceURL {
        switch self {
        case .page(let url): url
        case .folder(let folder): folder.url
        case .project(let project): project.url
        }
    }
}

/// The listing of a folder within a directory listing, or one page of that listing.
struct ListedFolder: Sendable, Hashable {
    /// The URL of the folder's listing. Ends in a slash.
    var url: SourceURL
    /// The folder's decoded path within the first folder of the listing, with a slash at its end.
    ///
    /// Empty for the first folder itself.
    var path: String
    /// How many levels the folder is below the first folder of the listing.
    var depth: Int
    /// Whether this is a further page of the same folder's listing.
    var isNextPage = false

    /// Creates a folder from its values.
    init(url: SourceURL, path: String = "", depth: Int = 0) {
        (self.url, self.path, self.depth) = (url, path, depth)
    }
}

/// A project whose files a list names by their digests, without URLs.
struct IndexedProject: Sendable, Hashable {
    /// The project's page at the index (PEP 503, PEP 691).
    var url: SourceURL
    /// The project's name as the list writes it.
    var name: String
    /// The digests of the project's files.
    var digests: [Digest]
    /// The line of the list that names the project.
    var line: Int
    /// The column in that line at which the name begins.
    var column: Int

    /// Creates a project from its values.
    init(url: SourceURL, name: String, digests: [Digest], line: Int, column: Int) {
        (self.url, self.name, self.digests) = (url, name, digests)
        (self.line, self.column) = (line, column)
    }
}

/// An entry of a list that mirror left out, and why.
package struct LeftOutEntry: Sendable, Hashable {
    /// The entry's name in the list: a URL, a path, the name of a package, or a line.
    ///
    /// At most 1,024 bytes are kept. Queries and passwords of URLs are removed.
    let name: String
    /// The line in the list, from 1. 0 means that the list has no lines.
    let line: Int
    /// The column in that line, in Unicode scalars from 1. 0 if `line` is 0.
    let column: Int
    /// Why mirror left the entry out.
    let reason: String

    /// The greatest length of a stored name, in bytes.
    private static let longestName = 1024

    /// Whether a name may be a URL with a password or a query, perhaps without its scheme.
    private static func mayBeURL(_ name: String) -> Bool {
        if name.contains("://") { return true }
        guard let (user, _) = name.halves(atFirst: "@") else {
            return name.contains("?") && !name.hasPrefix("magnet:")
        }
        return user.contains(":") && !user.contains("/")
    }

    /// Creates an entry. Pass a column of 0 if the line is 0.
    init(_ name: String, _ reason: String, line: Int, column: Int) {
        let name =
            name.utf8.count <= LeftOutEntry.longestName
            ? name : String(decoding: name.utf8.prefix(LeftOutEntry.longestName), as: UTF8.self)
        self.name = LeftOutEntry.mayBeURL(name) ? URLSecrets.hidden(in: name) : name
        (self.line, self.column) = (line, column)
        self.reason = reason
    }
}

extension [LeftOutEntry] {
    /// Returns a sentence for each reason: how many entries mirror left out, and the first names.
    ///
    /// - Parameter most: the greatest number of names in all sentences together.
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

/// The format of a list of files that another program writes. mirror reads it like a manifest.
///
/// mirror tries the formats in this order: one with a narrow grammar comes before one with a wide
/// one.
package enum ListFormat: String, Sendable, Hashable, CaseIterable {
    /// URLs, one a line.
    case urls
    /// The input file of aria2: mirrors of a file on one line, options on the lines below.
    case aria2
    /// `manifest-sha256.txt` of a BagIt bag, or one with another algorithm.
    case bagit
    /// SHA256SUMS and the like, as coreutils and the BSDs write them.
    case sums
    /// `fetch.txt` of a BagIt bag.
    case bagitFetch = "bagit-fetch"
    /// A registry of pooch: name, digest, and perhaps a URL.
    case pooch
    /// go.sum.
    case goSum = "go-sum"
    /// pip's requirements.txt. mirror reads only requirements with URLs.
    case requirements
    /// pylock.toml (PEP 751).
    case pylock
    /// poetry.lock.
    case poetry
    /// uv.lock.
    case uv
    /// Cargo.lock.
    case cargo
    /// package-lock.json or npm-shrinkwrap.json.
    case npm
    /// Pipfile.lock.
    case pipfile
    /// yarn.lock of yarn 1.
    case yarn
    /// pnpm-lock.yaml.
    case pnpm
    /// composer.lock.
    case composer
    /// Gemfile.lock.
    case gemfile
    /// An explicit list of conda.
    case conda
    /// The index `Packages` of a Debian archive.
    case debianPackages = "debian-packages"
    /// `Release` or `InRelease` of a Debian archive.
    case debianRelease = "debian-release"
    /// APKINDEX of an Alpine repository.
    case alpine
    /// The database of a repository of pacman.
    case pacman
    /// `repomd.xml` of an RPM repository.
    case repomd
    /// `primary.xml` of an RPM repository.
    case rpmPrimary = "rpm-primary"
    /// An answer of S3's ListObjectsV2.
    case s3
    /// A release of GitHub, or its assets, in JSON.
    case github
    /// The tree of a repository of Hugging Face in JSON.
    case huggingFace = "hugging-face"
    /// Sources of flatpak-builder in JSON.
    case flatpak
    /// Metalink 3.
    case metalink3
    /// CycloneDX in JSON.
    case cyclonedx
    /// A directory listing of a web server, in HTML or JSON.
    case index
}
