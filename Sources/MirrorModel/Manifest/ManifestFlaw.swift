/// Why the resources of a manifest, each sound by itself, cannot be one tree.
///
/// Resources are named by their positions; `first` is the one that comes earlier in the manifest.
public enum ManifestFlaw: Sendable, Hashable {
    /// Two resources have the same target.
    case equalTargets(first: Int, second: Int)
    /// Two targets would be one file where case, or the form of accents, makes no difference.
    case targetsAlike(first: Int, second: Int)
    /// Two folders would be one where case, or the form of accents, makes no difference.
    case foldersAlike(first: Int, second: Int, firstFolder: String, secondFolder: String)
    /// One target is the folder of another.
    case targetIsFolder(target: Int, inside: Int)
    /// One request is declared to give bytes of two digests.
    case twoDigests(first: Int, second: Int, url: SourceURL, digests: [Digest])

    /// The resource at which the flaw is reported: the one that comes later in the manifest.
    public var position: Int {
        switch self {
        case .equalTargets(let first, let second), .targetsAlike(let first, let second),
            .foldersAlike(let first, let second, _, _), .twoDigests(let first, let second, _, _),
            .targetIsFolder(let first, let second):
            max(first, second)
        }
    }

    /// The other resource.
    public var otherPosition: Int {
        switch self {
        case .equalTargets(let first, let second), .targetsAlike(let first, let second),
            .foldersAlike(let first, let second, _, _), .twoDigests(let first, let second, _, _),
            .targetIsFolder(let first, let second):
            min(first, second)
        }
    }

    /// The flaws in the order of the manifest.
    package static func inOrder(_ flaws: [ManifestFlaw]) -> [ManifestFlaw] {
        flaws.sorted { $0.position < $1.position }
    }
}

extension Manifest {
    /// The flaws that keep the resources from being one tree, in the order of the manifest.
    ///
    /// Empty when there are none. Takes time in proportion to the resources, and 16 bytes for each
    /// while it runs, or 32 where targets and digests are looked at together.
    public func flaws() -> [ManifestFlaw] {
        ManifestFlaw.inOrder(flawsOfTargets() + flawsOfDigests())
    }

    /// The flaws of targets that cannot stand beside each other in one tree.
    package func flawsOfTargets() -> [ManifestFlaw] { resources.collisions() }

    /// The flaws of requests that are declared to give bytes of two digests.
    package func flawsOfDigests() -> [ManifestFlaw] { DigestContradictions(resources).flaws() }

    /// A flaw as a sentence that names the resources concerned.
    public func sentence(on flaw: ManifestFlaw) -> String {
        let target = { (position: Int) in Quoted(resources.target(at: position).path) }
        switch flaw {
        case .equalTargets(let first, let second):
            return "\(target(second)) is also the target of \(place(first, second));"
                + " give one of them another path"
        case .targetsAlike(let first, let second):
            return "\(target(second)) and \(target(first)) (\(place(first, second))) differ only in"
                + " case or in how accents are written; rename one"
        case .foldersAlike(let first, let second, let firstFolder, let secondFolder):
            return "the folders \(Quoted(secondFolder)) and \(Quoted(firstFolder))"
                + " (\(place(first, second))) differ only in case or in how accents are written;"
                + " write one of them everywhere"
        case .targetIsFolder(let file, let inside):
            return "\(target(file)) would be a file and the folder of \(target(inside))"
                + " (\(place(flaw.otherPosition, flaw.position))); rename one"
        case .twoDigests(let first, let second, let url, let digests):
            let values = digests.map { Escaped($0.description, limit: 24).description }
            return "\(url) is said to give \(values.joined(separator: " and "))"
                + " (\(place(first, second))); one URL gives one version"
        }
    }

    private func place(_ first: Int, _ second: Int) -> String {
        let line = resources.place(at: first).line
        return line > 0 ? "line \(line)" : "resource \(first + 1)"
    }
}
