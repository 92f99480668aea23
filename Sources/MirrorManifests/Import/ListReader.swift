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
        let text = try ListText(try bytes.whole(most: ListReader.greatestSize), log: log)
        if hint.format?.notation == "TOML" || hint.format == nil && ListDetection.isTOML(text) {
            let collector = try TOMLLists.read(text, wanted: hint.format, self)
            collector.finish()
            return collector
        }
        let format: ListFormat
        if let wanted = hint.format {
            format = wanted
        } else {
            switch ListDetection.format(of: text) {
            case .found(let found): format = found
            case .unknown(let misfit): throw refuse(misfit)
            }
        }
        guard let read = ListReader.readers[format] else { throw refuseNotation(of: format) }
        let collector = ListCollector(format, builder: builder, hint: hint)
        try read(text, collector)
        collector.finish()
        return collector
    }

    /// Reads a page of HTML; nil if it is none that belongs to a list.
    func readHTML(_ bytes: ManifestBytes) throws(DecodingStop) -> ListCollector? {
        let wantsListing =
            hint.format == .index || hint.format == nil && builder.check.origin.isFolder
        guard wantsListing || hint.part != nil else { return nil }
        let page = try HTMLPage(try bytes.whole(most: ListReader.greatestSize), log: log)
        let collector = ListCollector(hint.format ?? .index, builder: builder, hint: hint)
        if case .project(let project)? = hint.part {
            IndexedFiles(page).take(project, into: collector)
        } else if hint.format == .index || IndexList.isListing(page) {
            IndexList.read(page, into: collector)
        } else if case .folder(let folder)? = hint.part {
            collector.leaveOut(
                folder.path, "a page that is no directory listing", at: TextPosition(line: 0))
        } else {
            log.error(
                at: TextPosition(),
                "this page of HTML is no directory listing; if it is one after all, say --from index"
            )
            throw .refused
        }
        collector.finish()
        return collector
    }

    private typealias TextReader = (ListText, ListCollector) throws(DecodingStop) -> Void

    private static var readers: [ListFormat: TextReader] {
        [
            .urls: URLList.read, .aria2: AriaList.read, .sums: SumsList.read,
            .bagit: BagList.read, .bagitFetch: BagFetchList.read, .pooch: PoochList.read,
            .requirements: RequirementsList.read, .goSum: GoSumList.read,
            .debianPackages: PackagesList.read, .debianRelease: ReleaseList.read,
        ]
    }

    private func refuse(_ misfit: ListDetection.Misfit) -> DecodingStop {
        log.error(
            at: misfit.place,
            "this is no manifest and none of the lists that mirror reads"
                + " (\(ListFormat.allCases.map(\.rawValue).joined(separator: ", ")));"
                + " the nearest is \(misfit.format.rawValue): \(misfit.reason)",
            remedy: Remedy(.nameFormat, misfit.format.rawValue))
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
    /// The whole text. Throws when it is longer than a list may be.
    func whole(most: Int) throws(DecodingStop) -> [UInt8] {
        rewind()
        var whole: [UInt8] = []
        var chunk: [UInt8] = []
        repeat {
            try next(&chunk)
            whole += chunk
            guard whole.count <= most else {
                throw .unreadable(
                    MirrorError(
                        .manifestUnreadable, "The list is longer than \(ByteCount(Int64(most)))."))
            }
        } while !chunk.isEmpty
        return whole
    }
}
