/// Makes one tree of the files of a list.
///
/// A file that cannot stand beside the others gets another path, or is left out.
struct ListFiles {
    private var files = JoinedResources()
    /// For each file, whether the end of its URL is its name.
    private var areNamedByURL: [Bool] = []

    init() {}

    /// The number of files so far.
    var count: Int { files.count }

    /// Adds a file, or joins it with an earlier description of the same bytes.
    ///
    /// - Parameter isNamedByURL: whether the list gives the file no name, so that the end of its
    ///   URL is its name.
    mutating func add(_ resource: Resource, isNamedByURL: Bool = false) {
        if files.add(resource) { areNamedByURL.append(isNamedByURL) }
    }

    /// Returns the files that form one tree, and the entries that are left out.
    mutating func finish() -> (resources: ResourceTable, leftOut: [LeftOutEntry]) {
        separateEqualNames()
        var resources = files.resources
        files = JoinedResources()
        var leftOut: [LeftOutEntry] = []
        // A file may conflict with several others; the next round finds the further conflicts.
        for _ in 0..<ListFiles.mostRounds {
            resources.rememberOrder()
            let manifest = Manifest(name: nil, owner: "list", resources: resources)
            let flaws = manifest.flaws()
            if flaws.isEmpty { break }
            let reasons = ListFiles.reasons(of: flaws, in: manifest)
            for (position, reason) in reasons.sorted(by: { $0.key < $1.key }) {
                let resource = resources[position]
                leftOut.append(
                    LeftOutEntry(
                        resource.primary.url.description, reason,
                        at: TextPosition(line: resource.line, column: resource.column)))
            }
            resources = ResourceTable(
                resources.indices.lazy.filter { reasons[$0] == nil }.map { resources[$0] })
        }
        return (resources, leftOut)
    }

    /// Returns the error message about a list without a file that can be fetched.
    static func nothingLeft(of format: ListFormat, _ leftOut: [LeftOutEntry]) -> String {
        ([format.kind.title + " that lists no file that can be fetched"]
            + leftOut.sentences(most: 8))
            .joined(separator: "; ")
    }

    /// The most rounds in which conflicting files are left out.
    private static let mostRounds = 16

    /// Returns the positions of the files to leave out, with the reasons.
    private static func reasons(of flaws: [ManifestRuleError], in manifest: Manifest) -> [Int:
        String]
    {
        var reasons: [Int: String] = [:]
        var folders: [String: String] = [:]
        for flaw in flaws {
            let sentence = manifest.sentence(on: flaw)
            switch flaw {
            case .targetIsFolder(let target, _): reasons[target] = reasons[target] ?? sentence
            case .foldersAlike(_, _, _, let second): folders[second] = sentence
            case .equalTargets, .targetsAlike, .twoDigests:
                reasons[flaw.position] = reasons[flaw.position] ?? sentence
            }
        }
        guard !folders.isEmpty else { return reasons }
        // If two folders differ only in spelling, all files of the second folder are left out.
        for position in manifest.resources.indices {
            var path = manifest.resources.target(at: position).folder
            while !path.isEmpty {
                if let sentence = folders[path] { reasons[position] = sentence }
                path = PathText.folder(of: path)
            }
        }
        return reasons
    }

    /// Moves files whose URLs end in the same name into folders made from their URLs.
    private mutating func separateEqualNames() {
        let resources = files.resources
        var known = RepeatedHashes(expecting: resources.count)
        for position in resources.indices where areNamedByURL[position] {
            known.insert(ListFiles.hash(ofTargetAt: position, in: resources))
        }
        known.find()
        guard !known.repeated.isEmpty else { return }
        var separate = JoinedResources()
        for position in resources.indices {
            var resource = resources[position]
            if areNamedByURL[position],
                known.contains(ListFiles.hash(ofTargetAt: position, in: resources)),
                let target = resource.targetByURL
            {
                resource.target = target
            }
            _ = separate.add(resource)
        }
        files = separate
    }

    private static func hash(ofTargetAt position: Int, in resources: ResourceTable) -> UInt64 {
        resources.withPath(at: position) { FoldedHashes.hash(ofPath: $0) }
    }
}

extension Resource {
    /// The target with the host and the folders of its URL before the name.
    ///
    /// If the URL has a query, the path also gets a folder of digits made from the URL. `nil` means
    /// that the result is no valid target.
    fileprivate var targetByURL: Target? {
        let url = primary.url
        let folders = url.path.parts(at: "/").dropLast().compactMap { SourceURL.decoded($0) }
        let query = url.query == nil ? [] : [String(url.provisionalName.suffix(8))]
        let parts = [target.folder, url.host] + folders + query + [target.name]
        return try? Target(parts.joined(separator: "/"))
    }
}
