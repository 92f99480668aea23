internal import MirrorModel

/// How mirror recognises and reads the lists of another program.
///
/// Each format has one value of this type, beside its reader.
struct ListKind {
    /// What reads the list.
    enum Reader {
        case text((ListText, ListCollector) throws(DecodingStop) -> Void)
        /// JSON or TOML.
        case tree((JSONTree, ListCollector) -> Void)
        /// XML.
        case dialect((ListCollector) -> any XMLDialect)
    }

    /// The marks of a format. A mark of an earlier case counts before one of a later case.
    enum Evidence {
        /// A line that only this format has.
        case line((ListLine) -> Bool)
        /// The lines as a whole.
        case lines(([ListLine]) -> Bool)
        /// Returns why a line cannot belong to the format.
        ///
        /// Returns nil if the line can belong to it. All lines must fit.
        case grammar((ListLine) -> String?)
        /// The fields of the first paragraph, as Debian writes them.
        case fields((Set<String>) -> Bool)
        /// Keys of a JSON object that occur in this format only and in no manifest, or an element of
        /// an array.
        case json(keys: Set<String>, isElement: (JSONTree) -> Bool = { _ in false })
        /// A text in TOML.
        case toml((JSONTree) -> Bool)
        /// The root element in XML.
        case root(String, in: String? = nil)
    }

    /// The name for people.
    let title: String
    let notation: String
    let reader: Reader
    let evidence: [Evidence]
    /// Returns the base of the names in a list that came from this URL.
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
    /// How the format is recognised and read.
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
