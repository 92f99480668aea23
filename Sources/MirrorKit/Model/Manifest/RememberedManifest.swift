/// A manifest that a root remembers, with the facts that the user sees.
package struct RememberedManifest: Sendable, Hashable {
    /// The manifest's name, which owns its targets.
    package var name: String
    /// The place where mirror looks for the manifest: an absolute path, or a URL without its query.
    package var place: String
    /// Whether the place is a path or a URL.
    var kind: Kind
    /// Whether a file can be read at the place now. `nil` for a URL, which mirror does not ask.
    package var isThere: Bool?
    /// The number of resources at the last sync.
    /// `nil` means that an older mirror did not record it.
    package var resources: Int?
    /// The resources of it that are wanted.
    package var selection = Selection()
    /// When mirror took or last confirmed the last good copy. `nil` means that there is no copy.
    package var copiedAt: Instant?
    /// When the last sync ended that had work to do, or found the manifest changed or moved.
    package var syncedAt: Instant?

    /// The kind of a place.
    package enum Kind: String, Sendable, Hashable {
        case path, url
    }

    /// Writes the manifest as one JSON object. Keys that do not apply are null.
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("name", name)
            json.member("place", place)
            json.member("kind", kind.rawValue)
            json.key("found")
            if let isThere { json.boolean(isThere) } else { json.null() }
            json.member("resources", resources)
            json.key("selection")
            if selection.isAll {
                json.null()
            } else {
                json.object { json in
                    json.member("only", selection.only.sorted())
                    json.member("skip", selection.skip.sorted())
                    json.member("platform", selection.wheels?.platform)
                    json.member("python", selection.wheels?.python)
                }
            }
            json.member("copied", copiedAt?.rfc3339)
            json.member("synced", syncedAt?.rfc3339)
        }
    }
}

/// What forgetting a manifest did, or would do.
package struct ForgetReport: Sendable {
    /// The root's path.
    package var root: String
    /// The manifest's name.
    package var name: String
    /// Whether this was a dry run, which changes nothing.
    package var isDryRun: Bool
    /// Files that were removed with the manifest, and their sizes in bytes.
    package var removed: [(target: Target, size: Int64)] = []
    /// Files that stay without an owner.
    package var left: [Target] = []
    /// Files that stay because their bytes changed. Otherwise they would have been removed.
    package var changed: [Target] = []
    /// How many files stay because other manifests own them too.
    package var shared = 0
    /// Why files could not be removed.
    /// If there is a failure, the root still remembers the manifest.
    package var failures: [MirrorError] = []

    /// The bytes of the files that were removed.
    package var bytesRemoved: Int64 { removed.reduce(0) { $0.addingSaturated($1.size) } }

    /// Writes the report as one JSON document.
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("v", 1)
            json.member("root", root)
            json.member("name", name)
            json.member("dryRun", isDryRun)
            json.member("forgotten", !isDryRun && failures.isEmpty)
            json.key("steps")
            json.array { json in
                for file in removed { ForgetReport.write(file.target, "remove", to: &json) }
                for target in changed { ForgetReport.write(target, "changed", to: &json) }
                for target in left { ForgetReport.write(target, "leave", to: &json) }
            }
            json.key("totals")
            json.object { json in
                json.member("removed", removed.count)
                json.member("bytesRemoved", bytesRemoved)
                json.member("changed", changed.count)
                json.member("left", left.count)
                json.member("shared", shared)
                json.member("failed", failures.count)
            }
        }
    }

    private static func write(_ target: Target, _ step: String, to json: inout JSONWriter) {
        json.object { json in
            json.member("path", target.path)
            json.member("step", step)
        }
    }
}

/// The place at which a root finds a manifest that it remembers.
///
/// A place inside the root, or in the folder that holds the root, is stored relative to the root.
/// So a root that was moved, or unpacked from a cache, still finds the manifest. Paths are compared
/// as text: the caller has resolved all links.
enum ManifestPlace: Sendable, Hashable {
    /// A path relative to the root: `maps.json` inside the root, `../maps.json` beside it.
    case relative(String)
    /// A path relative to the root, for a file in a folder beside the root, and the former absolute
    /// path.
    ///
    /// mirror tries the absolute path if there is no file at the relative one.
    case either(relative: String, absolute: String)
    /// An absolute path, for all other files.
    case absolute(String)
    /// A URL, with its query hashed.
    case url(SourceKey)

    /// Decides how to store the place of a manifest's file. Both paths must be absolute.
    init(path: String, root: String) {
        if let inside = ManifestPlace.remainder(of: path, beneath: root) {
            self = .relative(inside)
            return
        }
        let folder = ManifestPlace.folder(of: root)
        guard root != "/", let beside = ManifestPlace.remainder(of: path, beneath: folder) else {
            self = .absolute(path)
            return
        }
        if !beside.utf8.contains(UInt8(ascii: "/")) {
            self = .relative("../" + beside)
        } else if folder == "/" {
            // Every path lies below `/`.
            self = .absolute(path)
        } else {
            self = .either(relative: "../" + beside, absolute: path)
        }
    }

    /// The paths at which the file may be, the most likely first. Empty for a URL.
    func paths(from root: String) -> [String] {
        switch self {
        case .relative(let path): [ManifestPlace.join(root, path)]
        case .either(let relative, let absolute):
            [ManifestPlace.join(root, relative), absolute].reduce(into: []) { paths, path in
                if !paths.contains(path) { paths.append(path) }
            }
        case .absolute(let path): [path]
        case .url: []
        }
    }

    private static func join(_ root: String, _ path: String) -> String {
        let up = "../"
        if path.utf8.starts(with: up.utf8) {
            let folder = folder(of: root)
            return (folder == "/" ? "" : folder) + "/" + path.dropFirst(up.count)
        }
        return (root == "/" ? "" : root) + "/" + path
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex
        else { return "/" }
        return String(path[..<slash])
    }

    private static func remainder(of path: String, beneath folder: String) -> String? {
        let prefix = folder == "/" ? "/" : folder + "/"
        guard path.utf8.count > prefix.utf8.count, path.utf8.starts(with: prefix.utf8) else {
            return nil
        }
        return String(path.utf8.dropFirst(prefix.utf8.count))
    }
}
