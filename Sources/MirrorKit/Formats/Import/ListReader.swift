/// Reads lists of other programs, and makes manifests of them.
struct ListReader {
    let builder: ManifestBuilder
    let hint: ListHint

    /// The most bytes of a list, after decompression.
    static let greatestSize = 1 << 29

    private var log: DiagnosticLog { builder.log }

    /// Reads a text that is neither JSON nor XML.
    func readText(_ bytes: ManifestBytes) throws(DecodingStop) -> ListCollector {
        let text = try ListText(bytes, log: log)
        if let foreign = ForeignList.shown(byStart: text.start) { throw refuse(foreign) }
        if hint.format?.kind.notation == "TOML" || hint.format == nil && ListReader.isTOML(text) {
            let tree = try TOMLParser.tree(of: text, log: log)
            if let wanted = hint.format { return try read(tree, as: wanted) }
            return try read(tree, as: try formatOfTOML(tree))
        }
        let signed = text.signedText(log: log)
        guard log.errorCount == 0 else { throw .refused }
        let format: ListFormat
        if let wanted = hint.format {
            format = wanted
        } else {
            format = try detectedFormat(of: signed ?? text)
        }
        guard case .text(let read) = format.kind.reader else { throw refuseNotation(of: format) }
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

    /// Reads a tree that the JSON or TOML parser made.
    func read(_ tree: JSONTree, as format: ListFormat) throws(DecodingStop) -> ListCollector {
        guard case .tree(let read) = format.kind.reader else { throw refuseNotation(of: format) }
        let collector = ListCollector(format, builder: builder, hint: hint)
        read(tree, collector)
        collector.finish()
        return collector
    }

    /// Reads a page of HTML: a directory listing, or a package index's page of a project.
    func readHTML(_ bytes: ManifestBytes) throws(DecodingStop) -> ListCollector {
        let page = try HTMLPage(try bytes.whole(most: ListReader.greatestSize), log: log)
        let collector = ListCollector(hint.format ?? .index, builder: builder, hint: hint)
        if case .project(let project)? = hint.part {
            collector.addFiles(of: project, from: page)
        } else if hint.format == .index || hint.format == nil && mayBeListing && page.isListing {
            ListKind.read(page, into: collector)
        } else if case .folder(let folder)? = hint.part {
            collector.leaveOut(
                folder.path, "a page that is no directory listing", at: TextPosition(line: 0))
        } else {
            log.error(
                at: TextPosition(),
                "this is a page of HTML, and no "
                    + (hint.format?.kind.title ?? "directory listing that mirror knows"),
                remedy: isFolder
                    ? Remedy(.nameFormat, ListFormat.index.rawValue) : nil)
            throw .refused
        }
        collector.finish()
        return collector
    }

    /// Whether the text may be a directory listing.
    ///
    /// Only a file, or a URL that ends in a slash, can be a listing.
    private var mayBeListing: Bool { isFolder || !builder.check.origin.isRemote }

    /// Whether the text came from a URL that ends in a slash.
    ///
    /// The server may have added the slash by a redirect.
    var isFolder: Bool {
        if builder.check.origin.isFolder { return true }
        guard case .url(let url) = builder.check.origin, let answered = hint.answeredBy else {
            return false
        }
        return answered.origin == url.origin && answered.path == url.path + "/"
    }

    /// Logs that mirror does not read this list. Returns the error to throw.
    func refuse(_ foreign: ForeignList) -> DecodingStop {
        log.error(at: TextPosition(), foreign.refusal)
        return .refused
    }

    /// Logs that the text's notation is not that of the named format. Returns the error to throw.
    func refuseNotation(of format: ListFormat) -> DecodingStop {
        log.error(
            at: TextPosition(), "this is not \(format.kind.title), which is \(format.kind.notation)"
        )
        return .refused
    }
}

extension ListReader {
    /// Reads a list in JSON. Returns nil if the text is a manifest, or is meant to be one.
    func readJSON(_ bytes: ManifestBytes) throws(DecodingStop) -> ListCollector? {
        let finding = try ListReader.finding(inJSON: bytes)
        if case .project(let project)? = hint.part {
            return try readIndex(bytes, of: project)
        }
        if case .manifest = finding, hint.format == nil || hint.isForListsOnly {
            try refuseHint()
            return nil
        }
        if case .foreign(let foreign) = finding, hint.format == nil { throw refuse(foreign) }
        let tree = try JSONTree(
            bytes.rewound, log: builder.log, longestText: ListReader.greatestSize)
        guard builder.log.errorCount == 0 else { throw .refused }
        var format = hint.format
        if format == nil {
            format =
                if case .folder? = hint.part {
                    .index
                } else if case .list(let found) = finding {
                    found
                } else if mayBeListing, tree.isListing {
                    .index
                } else {
                    ListReader.format(ofArray: tree)
                }
        }
        guard let format else { throw refuseArray(tree) }
        return try read(tree, as: format)
    }

    /// Reads a package index's page of a project in JSON (PEP 691).
    private func readIndex(
        _ bytes: ManifestBytes, of project: IndexedProject
    ) throws(DecodingStop) -> ListCollector {
        let tree = try JSONTree(bytes.rewound, log: builder.log)
        let collector = ListCollector(hint.format ?? .requirements, builder: builder, hint: hint)
        guard collector.addFiles(of: project, from: tree) else {
            builder.log.error(at: tree.place, "this is no page of a package index (PEP 691)")
            throw .refused
        }
        collector.finish()
        return collector
    }

    private func refuseArray(_ tree: JSONTree) -> DecodingStop {
        let isArray = if case .array = tree.value { true } else { false }
        let nearest =
            tree.elements.isEmpty
            ? "it is empty" : "no element has browser_download_url, oid or a type of flatpak's"
        builder.log.error(
            at: tree.place,
            isArray
                ? "a manifest is an object: { \"resources\": [ … ] }; of the lists in an array mirror"
                    + " reads github, hugging-face and flatpak: \(nearest)"
                : "a manifest is an object: { \"resources\": [ … ] }")
        return .refused
    }

    /// Throws if a format or a base is named for a manifest, which has a base of its own.
    func refuseHint() throws(DecodingStop) {
        guard hint.format != nil || hint.base != nil, !hint.isForListsOnly else { return }
        let what = hint.format.map { "not \($0.kind.title)" } ?? "which has a base of its own"
        builder.log.error(at: TextPosition(), "this is a manifest, \(what)")
        throw .refused
    }
}

extension ListReader {
    /// Returns the format of a lock file in TOML. Throws if mirror does not read this file.
    private func formatOfTOML(_ tree: JSONTree) throws(DecodingStop) -> ListFormat {
        let found = ListFormat.allCases.first { format in
            format.kind.evidence.contains {
                if case .toml(let isShown) = $0 { isShown(tree) } else { false }
            }
        }
        if let found { return found }
        if let foreign = ForeignList.shown(byTables: tree) { throw refuse(foreign) }
        log.error(
            at: TextPosition(),
            "this is TOML, but none of the lists in TOML that mirror reads (pylock, uv, poetry, cargo):"
                + " it has neither lock-version nor content-hash nor a [[package]] with a source")
        throw .refused
    }
}

extension ManifestBytes {
    /// Makes the error for a text of more than `most` bytes.
    static func tooLong(_ most: Int) -> DecodingStop {
        .unreadable(
            MirrorError(.manifestUnreadable, "The list is longer than \(ByteCount(Int64(most)))."))
    }

    /// Returns the whole text. Throws if the text is longer than `most` bytes.
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

extension JSONTree {
    /// A string that is not empty, with its place. `nil` for any other value.
    var word: ListWord? {
        string.flatMap { $0.isEmpty ? nil : ListWord(value: $0, place: place) }
    }

    /// A number as written, with its place. `nil` for any other value.
    var number: ListWord? {
        if case .number(let text) = value { ListWord(value: text, place: place) } else { nil }
    }

    /// The name and the version of a package in a lock file, with a space between them.
    var packageName: String {
        [self["name"]?.string, self["version"]?.string].compactMap(\.self).joined(separator: " ")
    }

    /// The members of an object; empty for any other value.
    var members: [Member] { if case .object(let members) = value { members } else { [] } }
}
