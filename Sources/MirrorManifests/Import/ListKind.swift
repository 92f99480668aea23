internal import MirrorModel

/// How a list of another program is recognised and read; each format has one, beside its reader.
struct ListKind {
    /// What reads the list.
    enum Reader {
        case text((ListText, ListCollector) throws(DecodingStop) -> Void)
        /// JSON or TOML.
        case tree((JSONTree, ListCollector) -> Void)
        /// XML.
        case dialect((ListCollector) -> any XMLDialect)
    }

    /// What shows the format, in the order in which it counts.
    enum Evidence {
        /// A line that only this format has.
        case line((ListLine) -> Bool)
        /// The lines as a whole.
        case lines(([ListLine]) -> Bool)
        /// Why a line cannot belong to the format; nil if it can. All lines must fit.
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
    /// The URL that the names of a list are relative to, if the list came from this URL.
    let base: (SourceURL) -> SourceURL?
    /// The name of a list that came from this URL; nil where its file's name is its own.
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
        case .urls: URLList.kind
        case .aria2: AriaList.kind
        case .bagit: BagList.kind
        case .sums: SumsList.kind
        case .bagitFetch: BagFetchList.kind
        case .pooch: PoochList.kind
        case .goSum: GoSumList.kind
        case .requirements: RequirementsList.kind
        case .pylock: PylockList.kind
        case .poetry: PoetryList.kind
        case .uv: UVList.kind
        case .cargo: CargoList.kind
        case .npm: NPMList.kind
        case .pipfile: PipfileList.kind
        case .yarn: YarnList.kind
        case .pnpm: PNPMList.kind
        case .composer: ComposerList.kind
        case .gemfile: GemfileList.kind
        case .conda: CondaList.kind
        case .debianPackages: PackagesList.kind
        case .debianRelease: ReleaseList.kind
        case .alpine: AlpineList.kind
        case .pacman: PacmanList.kind
        case .repomd: RepositoryDialect.kindOfIndex
        case .rpmPrimary: RepositoryDialect.kindOfPackages
        case .s3: BucketDialect.kind
        case .github: GitHubList.kind
        case .huggingFace: HuggingFaceList.kind
        case .flatpak: FlatpakList.kind
        case .metalink3: OldMetalinkDialect.kind
        case .cyclonedx: CycloneList.kind
        case .index: IndexList.kind
        }
    }

    /// The URL that the names of a list are relative to, if the list itself came from a URL.
    ///
    /// Most lists lie beside their files. Nil where the list's URL does not say.
    func base(ofListAt url: SourceURL) -> SourceURL? { kind.base(url) }

    /// The name of a list that came from a URL, if its file's name is that of many lists; else nil.
    func name(ofListAt url: SourceURL) -> String? { kind.name(url) }
}

extension SourceURL {
    /// The folders behind `dists/` in a folder's URL, decoded; nil if there is none.
    ///
    /// A Debian archive has a release in each: `dists/bookworm/`, or `dists/bookworm/updates/`.
    var foldersOfRelease: [String]? {
        let folders = path.split(separator: "/")
        guard let dists = folders.lastIndex(of: "dists") else { return nil }
        let behind = folders[(dists + 1)...].map { SourceURL.decoded($0) }
        let known = behind.compactMap(\.self)
        return known.isEmpty || known.count < behind.count ? nil : known
    }

    /// The URL of a reference that is relative to this one; nil if it is none.
    func beside(_ reference: String) -> SourceURL? {
        try? SourceURL(reference, relativeTo: self)
    }
}
