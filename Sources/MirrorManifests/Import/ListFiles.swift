package import MirrorModel

/// The files of a list, made one tree: what cannot stand beside the others gets another place or is
/// left out.
package struct ListFiles {
    private var files = JoinedResources()

    package init() {}

    /// How many files there are so far.
    package var count: Int { files.resources.count }

    /// Adds a file, or joins it with an earlier description of the same bytes.
    package mutating func add(_ resource: Resource) { _ = files.add(resource) }

    /// The files that are one tree, and those that are left out.
    package mutating func finish() -> (resources: [Resource], leftOut: [LeftOutEntry]) {
        separateEqualNames()
        var resources = files.resources
        var leftOut: [LeftOutEntry] = []
        // A file may be in the way of several others, which the next round finds.
        for _ in 0..<ListFiles.mostRounds {
            let manifest = Manifest(name: "list", resources: resources)
            let flaws = manifest.flaws()
            if flaws.isEmpty { break }
            var reasons: [Int: String] = [:]
            for flaw in flaws {
                let sentence = manifest.sentence(on: flaw)
                for position in ListFiles.positions(of: flaw, in: resources) {
                    reasons[position] = reasons[position] ?? sentence
                }
            }
            for position in reasons.keys.sorted() {
                let resource = resources[position]
                leftOut.append(
                    LeftOutEntry(
                        resource.primary.url.description, reasons[position] ?? "",
                        at: TextPosition(line: resource.line, column: resource.column)))
            }
            var position = -1
            resources.removeAll { _ in
                position += 1
                return reasons[position] != nil
            }
        }
        return (resources, leftOut)
    }

    /// What is said of a list of which nothing is left.
    package static func nothingLeft(of format: ListFormat, _ leftOut: [LeftOutEntry]) -> String {
        ([format.title + " that lists no file that can be fetched"] + leftOut.sentences(most: 8))
            .joined(separator: "; ")
    }

    /// How often the files are looked at until they are one tree.
    private static let mostRounds = 16

    /// The positions of the files that a flaw leaves out.
    private static func positions(of flaw: ManifestFlaw, in resources: [Resource]) -> [Int] {
        switch flaw {
        case .targetIsFolder(let target, _): return [target]
        case .foldersAlike(_, _, let first, let second):
            // All of the folder that is written otherwise.
            let folder = second + "/"
            let found = resources.indices.filter { resources[$0].target.path.hasPrefix(folder) }
            return found.isEmpty ? [flaw.position] : found
        case .equalTargets, .targetsAlike, .twoDigests: return [flaw.position]
        }
    }

    /// Gives files a folder each, made of their URLs, where these end in the same name.
    private mutating func separateEqualNames() {
        var counts: [String: Int] = [:]
        let names = files.resources.map { $0.isNamedByURL ? CaseFolding.fold($0.target.path) : nil }
        for case let name? in names { counts[name, default: 0] += 1 }
        guard counts.values.contains(where: { $0 > 1 }) else { return }
        var separate = JoinedResources()
        for (resource, name) in zip(files.resources, names) {
            var resource = resource
            if let name, counts[name] ?? 0 > 1, let target = resource.targetByURL {
                resource.target = target
            }
            _ = separate.add(resource)
        }
        files = separate
    }
}

extension Resource {
    /// Whether its file's name is the one at the end of its URL.
    fileprivate var isNamedByURL: Bool { primary.url.lastSegment == target.name }

    /// A target with the host and the folders of its URL in front of the name; nil if it cannot be one.
    ///
    /// With a query, digits that follow from the URL are a folder too.
    fileprivate var targetByURL: Target? {
        let url = primary.url
        let folders = url.path.parts(at: "/").dropLast().compactMap { SourceURL.decoded($0) }
        let query = url.query == nil ? [] : [String(ProvisionalName.make(for: url).suffix(8))]
        let parts = [target.folder, url.host] + folders + query + [target.name]
        return try? Target(parts.joined(separator: "/"))
    }
}
