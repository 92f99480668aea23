internal import MirrorModel

/// Reads lists of other programs, and makes manifests of them.
struct ListReader {
    let builder: ManifestBuilder
    let hint: ListHint

    /// The greatest length of a list in bytes, decompressed.
    static let greatestSize = 1 << 29

    private var log: DiagnosticLog { builder.log }

    /// Reads a text that is neither JSON nor XML.
    func readText(_ bytes: ManifestBytes) throws(DecodingStop) -> ListCollector {
        let text = try ListText(bytes, log: log)
        if let foreign = ForeignList.shown(byStart: text.start) { throw refuse(foreign) }
        if hint.format?.notation == "TOML" || hint.format == nil && ListDetection.isTOML(text) {
            let tree = try TOMLParser.tree(of: text, log: log)
            if let wanted = hint.format { return try read(tree, as: wanted) }
            return try read(tree, as: try TOMLLists.format(of: tree, self))
        }
        let signed = text.signedText(log: log)
        guard log.errorCount == 0 else { throw .refused }
        let format: ListFormat
        if let wanted = hint.format {
            format = wanted
        } else {
            format = try detectedFormat(of: signed ?? text)
        }
        guard let read = ListReader.textReaders[format] else { throw refuseNotation(of: format) }
        let collector = ListCollector(format, builder: builder, hint: hint)
        // A Release file is pinned to its bytes, so it is read with its signature.
        let isWhole = signed == nil || format == .debianRelease
        if !isWhole {
            collector.note("the signature is not verified", "", at: TextPosition())
        }
        try read(isWhole ? text : signed ?? text, collector)
        guard !text.isCut else {
            throw .unreadable(
                MirrorError(.manifestUnreadable, "The list could not be read to its end."))
        }
        collector.finish()
        return collector
    }

    /// Reads a tree that was made of JSON or TOML.
    func read(_ tree: JSONTree, as format: ListFormat) throws(DecodingStop) -> ListCollector {
        guard let read = ListReader.treeReaders[format] else { throw refuseNotation(of: format) }
        let collector = ListCollector(format, builder: builder, hint: hint)
        read(tree, collector)
        collector.finish()
        return collector
    }

    /// Reads a page of HTML, which is a directory listing or what a package index has of a project.
    func readHTML(_ bytes: ManifestBytes) throws(DecodingStop) -> ListCollector {
        let page = try HTMLPage(try bytes.whole(most: ListReader.greatestSize), log: log)
        let collector = ListCollector(hint.format ?? .index, builder: builder, hint: hint)
        if case .project(let project)? = hint.part {
            IndexedFiles(page).take(project, into: collector)
        } else if hint.format == .index || hint.format == nil && isListing(page) {
            IndexList.read(page, into: collector)
        } else if case .folder(let folder)? = hint.part {
            collector.leaveOut(
                folder.path, "a page that is no directory listing", at: TextPosition(line: 0))
        } else {
            log.error(
                at: TextPosition(),
                "this is a page of HTML, and no "
                    + (hint.format?.title ?? "directory listing that mirror knows"),
                remedy: isFolder
                    ? Remedy(.nameFormat, ListFormat.index.rawValue) : nil)
            throw .refused
        }
        collector.finish()
        return collector
    }

    /// Whether a page is a listing: only one whose URL ends in a slash, or which is in a file.
    private func isListing(_ page: HTMLPage) -> Bool {
        (isFolder || !builder.check.origin.isRemote) && IndexList.isListing(page)
    }

    /// Whether the text came from a URL that ends in a slash, perhaps because its server added that.
    var isFolder: Bool {
        if builder.check.origin.isFolder { return true }
        guard case .url(let url) = builder.check.origin, let answered = hint.answeredBy else {
            return false
        }
        return answered.origin == url.origin && answered.path == url.path + "/"
    }

    private typealias TextReader = (ListText, ListCollector) throws(DecodingStop) -> Void

    private static var textReaders: [ListFormat: TextReader] {
        [
            .urls: URLList.read, .aria2: AriaList.read, .sums: SumsList.read,
            .bagit: BagList.read, .bagitFetch: BagFetchList.read, .pooch: PoochList.read,
            .requirements: RequirementsList.read, .goSum: GoSumList.read,
            .debianPackages: PackagesList.read, .debianRelease: ReleaseList.read,
            .yarn: YarnList.read, .pnpm: PNPMList.read, .gemfile: GemfileList.read,
            .conda: CondaList.read, .alpine: AlpineList.read, .pacman: PacmanList.read,
        ]
    }

    private static var treeReaders: [ListFormat: (JSONTree, ListCollector) -> Void] {
        [
            .npm: NPMList.read, .cyclonedx: CycloneList.read, .github: GitHubList.read,
            .huggingFace: HuggingFaceList.read, .flatpak: FlatpakList.read,
            .pipfile: PipfileList.read, .composer: ComposerList.read, .pylock: PylockList.read,
            .uv: UVList.read, .cargo: CargoList.read, .poetry: PoetryList.read,
            .index: IndexList.read,
        ]
    }

    private func detectedFormat(of text: ListText) throws(DecodingStop) -> ListFormat {
        switch ListDetection.format(of: text) {
        case .found(let format): return format
        case .foreign(let foreign): throw refuse(foreign)
        case .unknown(let nearest):
            let names = ListFormat.allCases.map(\.rawValue).joined(separator: ", ")
            let end = nearest.map { "; the nearest is \($0.format.rawValue): \($0.reason)" } ?? ""
            log.error(
                at: nearest?.place ?? TextPosition(),
                "this is no manifest and none of the lists that mirror reads (\(names))\(end)",
                remedy: nearest.map { Remedy(.nameFormat, $0.format.rawValue) })
            throw .refused
        }
    }

    /// Refuses a list that mirror does not read.
    func refuse(_ foreign: ForeignList) -> DecodingStop {
        log.error(at: TextPosition(), foreign.refusal)
        return .refused
    }

    /// Refuses a text whose notation is not that of the named format.
    func refuseNotation(of format: ListFormat) -> DecodingStop {
        log.error(
            at: TextPosition(), "this is not \(format.title), which is \(format.notation)")
        return .refused
    }
}

extension ManifestBytes {
    /// The error for a text of more than so many bytes.
    static func tooLong(_ most: Int) -> DecodingStop {
        .unreadable(
            MirrorError(.manifestUnreadable, "The list is longer than \(ByteCount(Int64(most)))."))
    }

    /// The whole text. Throws when it is longer than a list may be.
    func whole(most: Int) throws(DecodingStop) -> [UInt8] {
        rewind()
        var whole: [UInt8] = []
        var chunk: [UInt8] = []
        repeat {
            try next(&chunk)
            whole += chunk
            guard whole.count <= most else {
                throw ManifestBytes.tooLong(most)
            }
        } while !chunk.isEmpty
        return whole
    }
}
