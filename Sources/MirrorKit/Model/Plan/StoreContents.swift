/// What a store that is a folder has of the files that a plan fetches.
struct StoreContents: Sendable {
    /// The store as the user named it.
    let place: String
    /// The absolute path of its folder.
    let folder: String
    /// The positions of the plan's steps whose bytes it has.
    var positions = PositionSet()
    /// The files of another root, below its folder, by the positions of the steps.
    ///
    /// All other files lie in `cas/`, under their digests.
    var paths: [Int: String] = [:]

    /// An empty store.
    init(place: String, folder: String) { (self.place, self.folder) = (place, folder) }

    /// The file that has a step's bytes. Returns nil if the store does not have them.
    func file(of sha256: Digest, at position: Int) -> SourceURL? {
        guard positions.contains(position) else { return nil }
        return SourceURL(file: folder + "/" + (paths[position] ?? Store.name(of: sha256)))
    }
}

extension Plan {
    /// The files of folder stores that have a step's bytes, in the order of the stores.
    func storedFiles(of step: Step) -> [(url: SourceURL, place: String)] {
        if stores.isEmpty { return [] }
        guard let position = steps.position(of: step.target), let sha256 = sha256(at: position)
        else { return [] }
        return stores.compactMap { store in
            store.file(of: sha256, at: position).map {
                ($0, store.place)
            }
        }
    }

    /// The folder store that has a step's bytes, for people. Returns nil if none has them.
    package func store(of step: Step) -> String? { storedFiles(of: step).first?.place }

    /// The declared sha256 of a step that sends a request. Returns nil if it has none.
    func sha256(at position: Int) -> Digest? {
        guard let (manifest, at) = steps.request(at: position) else { return nil }
        let resources = manifests[manifest].resources
        if resources.isPost(at: at) { return nil }
        if let digest = resources.onlyDigest(at: at) {
            return digest.algorithm == .sha256 ? digest : nil
        }
        return resources.hasDigest(at: at)
            ? resources[at].digests.first { $0.algorithm == .sha256 } : nil
    }
}
