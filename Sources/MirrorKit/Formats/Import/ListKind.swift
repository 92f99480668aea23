/// How mirror recognises and reads the lists of another program.
///
/// Each format has one value of this type, beside its reader.
struct ListKind {
    /// The function that reads the list, by its notation.
    enum Reader {
        case text((ListText, ListCollector) throws(DecodingStop) -> Void)
        /// Reads a tree made of JSON or TOML.
        case tree((JSONTree, ListCollector) -> Void)
        /// Makes the reader of an XML document.
        case dialect((ListCollector) -> any XMLDialect)
    }

    /// The marks of a format. A mark of an earlier case counts before one of a later case.
    enum Evidence {
        /// Whether a line is one that only this format has.
        case line((ListLine) -> Bool)
        /// Whether the lines as a whole belong to this format.
        case lines(([ListLine]) -> Bool)
        /// Returns why a line cannot belong to the format.
        ///
        /// Returns nil if the line can belong to it. All lines must fit.
        case grammar((ListLine) -> String?)
        /// Whether the fields of the first paragraph, as Debian writes them, belong to this format.
        case fields((Set<String>) -> Bool)
        /// Keys of a JSON object, or an element of a JSON array, that identify this format.
        ///
        /// The keys occur in no other format and in no manifest.
        case json(keys: Set<String>, isElement: (JSONTree) -> Bool = { _ in false })
        /// Whether a document in TOML belongs to this format.
        case toml((JSONTree) -> Bool)
        /// The name, and perhaps the namespace, of the root element in XML.
        case root(String, in: String? = nil)
    }

    /// The name of the format for people.
    let title: String
    let notation: String
    let reader: Reader
    let evidence: [Evidence]
    /// Returns the base of the names in a list that came from this URL.
    ///
    /// Returns nil if the URL gives no base.
    let base: (SourceURL) -> SourceURL?
    /// Returns the name of a list that came from this URL.
    ///
    /// `nil` means that the list has the name of its file.
    let name: (SourceURL) -> String?

    init(
        _ title: String, _ notation: String, _ reader: Reader, _ evidence: Evidence...,
        base: @escaping (SourceURL) -> SourceURL? = { $0.beside("./") },
        name: @escaping (SourceURL) -> String? = { _ in nil }
    ) {
        (self.title, self.notation, self.reader) = (title, notation, reader)
        (self.evidence, self.base, self.name) = (evidence, base, name)
    }
}

extension ListFormat {
    /// How mirror recognises and reads this format.
    var kind: ListKind {
        switch self {
        case .urls: .urls
        case .aria2: .aria2
        case .bagit: .bagit
        case .sums: .sums
        case .bagitFetch: .bagitFetch
        case .pooch: .pooch
        case .goSum: .goSum
        case .requirements: .requirements
        case .pylock: .pylock
        case .poetry: .poetry
        case .uv: .uv
        case .cargo: .cargo
        case .npm: .npm
        case .pipfile: .pipfile
        case .yarn: .yarn
        case .pnpm: .pnpm
        case .composer: .composer
        case .gemfile: .gemfile
        case .conda: .conda
        case .debianPackages: .debianPackages
        case .debianRelease: .debianRelease
        case .alpine: .alpine
        case .pacman: .pacman
        case .repomd: .repomd
        case .rpmPrimary: .rpmPrimary
        case .s3: .s3
        case .github: .github
        case .huggingFace: .huggingFace
        case .flatpak: .flatpak
        case .metalink3: .metalink3
        case .cyclonedx: .cyclonedx
        case .index: .index
        }
    }
}

extension SourceURL {
    /// Resolves a reference against this URL. Returns nil if the result is no valid URL.
    func beside(_ reference: String) -> SourceURL? {
        try? SourceURL(reference, relativeTo: self)
    }
}
