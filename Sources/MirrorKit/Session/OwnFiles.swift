internal import Glibc
internal import MirrorModel
internal import MirrorStore

/// The files that mirror keeps in a root, among which no report, log or record belongs.
package enum OwnFiles {
    /// Refuses a path that leads beneath the areas or `.mirror` of a root. Throws `MirrorError` with
    /// `usage`.
    ///
    /// - Parameter root: the root as a command names it; nil stands for the implied one.
    package static func refuse(_ path: String, amongFilesOf root: String?) throws(MirrorError) {
        // A root that cannot be told is refused elsewhere.
        guard let surroundings = try? RootLocation.Surroundings.ofThisProcess(),
            let place = try? RootLocation(root: root, surroundings: surroundings),
            let root = resolved(place.path),
            let folder = resolved(folder(of: destination(of: path)))
        else { return }
        for name in Area.allCases.map(\.rawValue) + [".mirror"] {
            let own = root + "/" + name
            guard folder == own || folder.hasPrefix(own + "/") else { continue }
            throw MirrorError(
                .usage,
                "\(path.printable): it would lie in \(name), among the files that mirror keeps. Choose another place."
            )
        }
    }

    /// Where a path leads: a link to a file that is not there is followed too, as open(2) does.
    private static func destination(of path: String) -> String {
        var path = path
        for _ in 0..<40 {
            var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlink(path, &buffer, buffer.count)
            guard count > 0 else { break }
            let bytes = buffer.prefix(count).map { UInt8(bitPattern: $0) }
            let link = String(decoding: bytes, as: UTF8.self)
            path = link.utf8.first == UInt8(ascii: "/") ? link : folder(of: path) + "/" + link
        }
        return path
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
