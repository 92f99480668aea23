internal import MirrorModel

/// The targets that the manifests of a run give to their resources, and the folders above them.
///
/// No server may choose one of them for another resource, not even while nothing is there: the next
/// plan would have two resources with one target, and would be refused.
struct GivenTargets {
    /// The folded paths; targets that are alike cannot stand beside each other either.
    private var paths: Set<String> = []

    /// Asks `remembered` for the name that a server chose before, if the manifest gives none.
    init(
        of plan: Plan, remembered: (ServerNameKey) throws(MirrorError) -> Target?
    ) throws(MirrorError) {
        for manifest in plan.manifests {
            for at in manifest.resources.indices {
                guard manifest.resources.isNamedByServer(at: at) else {
                    add(manifest.resources.target(at: at).path)
                    continue
                }
                let key = manifest.serverNameKey(of: manifest.resources[at])
                if let target = try remembered(key) { add(target.path) }
            }
        }
    }

    private mutating func add(_ path: String) {
        var path = path[...]
        while paths.insert(CaseFolding.fold(String(path))).inserted,
            let slash = path.lastIndex(of: "/")
        {
            path = path[..<slash]
        }
    }

    /// Whether a target, or one like it, is given to a resource or is a folder above one.
    func has(_ target: Target) -> Bool { paths.contains(CaseFolding.fold(target.path)) }
}
