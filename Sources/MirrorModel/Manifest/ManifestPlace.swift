/// The place at which a root finds a manifest that it remembers.
///
/// A place inside the root, or beside it, is kept relative to the root. So a root that was moved,
/// or unpacked from a cache, still finds it. All paths are taken as text; links have been resolved
/// before.
package enum ManifestPlace: Sendable, Hashable {
    /// A path from the root: `maps.json` inside it, `../maps.json` beside it.
    case relative(String)
    /// A path from the root through the folder beside it, and the former absolute path.
    ///
    /// The absolute path is tried where there is no file at the relative one.
    case either(relative: String, absolute: String)
    /// A path that has nothing to do with the root.
    case absolute(String)
    /// A URL, with its query hashed.
    case url(SourceKey)

    /// Decides how to keep the place of a manifest's file; both paths are absolute.
    package init(path: String, root: String) {
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
            // Every path lies beneath `/`.
            self = .absolute(path)
        } else {
            self = .either(relative: "../" + beside, absolute: path)
        }
    }

    /// The paths at which the file may be, the most likely first; none for a URL.
    package func paths(from root: String) -> [String] {
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
