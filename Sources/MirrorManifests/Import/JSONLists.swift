internal import MirrorModel

/// The lists in JSON, told apart by their keys.
enum JSONLists {
    /// What the top-level keys of a text show.
    enum Finding {
        case manifest
        case list(ListFormat)
        /// A list that mirror does not read.
        case foreign(ForeignList)
        /// An array, whose elements identify the format.
        case array
    }

    /// Keys that occur in one format only, and in no manifest.
    private static let keys: [String: ListFormat] = [
        "lockfileVersion": .npm, "bomFormat": .cyclonedx, "assets": .github,
        "browser_download_url": .github, "sources": .flatpak, "modules": .flatpak,
        "_meta": .pipfile, "packages-dev": .composer, "content-hash": .composer,
    ]

    /// Looks for the first key that identifies a format. Errors are ignored: the reader of the text
    /// reports them.
    static func finding(in bytes: ManifestBytes) throws(DecodingStop) -> Finding {
        var tokens = try JSONTokenizer(
            bytes, log: DiagnosticLog(file: ""), longestText: ListReader.greatestSize)
        do throws(DecodingStop) {
            switch try tokens.next() {
            case .beginArray: return .array
            case .beginObject: break
            default: return .manifest
            }
            var seen: Set<String> = []
            while case .key = try tokens.next() {
                let key = tokens.string
                seen.insert(key)
                if key == TopKey.resources.rawValue { return .manifest }
                if let format = keys[key] { return .list(format) }
                try tokens.skip(try tokens.next())
            }
            if let foreign = ForeignList.shown(by: seen) { return .foreign(foreign) }
        } catch .unreadable(let error) { throw .unreadable(error) } catch .refused {}
        return .manifest
    }

    /// The format of an array, by the first element that identifies one.
    static func format(of array: JSONTree) -> ListFormat? {
        for element in array.elements {
            if element["browser_download_url"] != nil || element["assets"] != nil { return .github }
            guard let type = element["type"]?.string else { continue }
            if element["path"] != nil, ["file", "directory"].contains(type),
                element["oid"] != nil || element["size"] != nil
            {
                return .huggingFace
            }
            if FlatpakList.kinds.contains(type) { return .flatpak }
        }
        return nil
    }
}

extension ListReader {
    /// Reads JSON; nil if the text is a manifest, or meant to be one.
    func readJSON(_ bytes: ManifestBytes) throws(DecodingStop) -> ListCollector? {
        let finding = try JSONLists.finding(in: bytes)
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
                } else if isFolder || !builder.check.origin.isRemote,
                    IndexList.isListing(tree)
                {
                    .index
                } else {
                    JSONLists.format(of: tree)
                }
        }
        guard let format else { throw refuseArray(tree) }
        return try read(tree, as: format)
    }

    /// Reads what a package index has of a project.
    private func readIndex(
        _ bytes: ManifestBytes, of project: IndexedProject
    ) throws(DecodingStop) -> ListCollector {
        let tree = try JSONTree(bytes.rewound, log: builder.log)
        let collector = ListCollector(hint.format ?? .requirements, builder: builder, hint: hint)
        guard let files = IndexedFiles(tree) else {
            builder.log.error(at: tree.place, "this is no page of a package index (PEP 691)")
            throw .refused
        }
        files.take(project, into: collector)
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

    /// Refuses a named format or base if the text is a manifest, which has a base of its own.
    func refuseHint() throws(DecodingStop) {
        guard hint.format != nil || hint.base != nil, !hint.isForListsOnly else { return }
        let what = hint.format.map { "not \($0.title)" } ?? "which has a base of its own"
        builder.log.error(at: TextPosition(), "this is a manifest, \(what)")
        throw .refused
    }
}

extension JSONTree {
    /// A string that is not empty, with its place; nil for anything else.
    var word: ListWord? {
        string.flatMap { $0.isEmpty ? nil : ListWord(value: $0, place: place) }
    }

    /// A number as it is written, with its place; nil for anything else.
    var number: ListWord? {
        if case .number(let text) = value { ListWord(value: text, place: place) } else { nil }
    }

    /// What a lock file calls a package: its name and its version.
    var packageName: String {
        [self["name"]?.string, self["version"]?.string].compactMap(\.self).joined(separator: " ")
    }

    /// The members of an object; empty for anything else.
    var members: [Member] { if case .object(let members) = value { members } else { [] } }
}
