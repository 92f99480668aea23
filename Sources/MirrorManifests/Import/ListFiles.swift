package import MirrorModel

/// The files of a list, made one tree: what cannot stand beside the others gets another place or is
/// left out.
package struct ListFiles {
    private var files = JoinedResources()
    /// Whether each file has its name from its URL.
    private var areNamedByURL: [Bool] = []

    package init() {}

    /// How many files there are so far.
    package var count: Int { files.count }

    /// Adds a file, or joins it with an earlier description of the same bytes.
    ///
    /// - Parameter isNamedByURL: whether the list gives it no name, so that it has the one at the end of
    ///   its URL.
    package mutating func add(_ resource: Resource, isNamedByURL: Bool = false) {
        if files.add(resource) { areNamedByURL.append(isNamedByURL) }
    }

    /// The files that are one tree, and those that are left out.
    package mutating func finish() -> (resources: ResourceTable, leftOut: [LeftOutEntry]) {
        separateEqualNames()
        var resources = files.resources
        files = JoinedResources()
        var leftOut: [LeftOutEntry] = []
        // A file may be in the way of several others, which the next round finds.
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

    /// What is said of a list of which nothing is left.
    package static func nothingLeft(of format: ListFormat, _ leftOut: [LeftOutEntry]) -> String {
        ([format.kind.title + " that lists no file that can be fetched"]
            + leftOut.sentences(most: 8))
            .joined(separator: "; ")
    }

    /// How often the files are looked at until they are one tree.
    private static let mostRounds = 16

    /// The positions of the files that flaws leave out, and why.
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
        // All files of the folder that is written otherwise.
        for position in manifest.resources.indices {
            var path = manifest.resources.target(at: position).folder
            while !path.isEmpty {
                if let sentence = folders[path] { reasons[position] = sentence }
                path = PathText.folder(of: path)
            }
        }
        return reasons
    }

    /// Gives files a folder each, made of their URLs, where these end in the same name.
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
    /// A target with the host and the folders of its URL in front of the name; nil if it cannot be one.
    ///
    /// With a query, digits that follow from the URL are a folder too.
    fileprivate var targetByURL: Target? {
        let url = primary.url
        let folders = url.path.parts(at: "/").dropLast().compactMap { SourceURL.decoded($0) }
        let query = url.query == nil ? [] : [String(url.provisionalName.suffix(8))]
        let parts = [target.folder, url.host] + folders + query + [target.name]
        return try? Target(parts.joined(separator: "/"))
    }
}
