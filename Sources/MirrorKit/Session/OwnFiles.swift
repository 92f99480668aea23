internal import Glibc
internal import MirrorModel

/// The files that mirror keeps in a root, among which no report, log or record belongs.
package enum OwnFiles {
    /// Refuses a path in the areas or `.mirror` of the named root, or of any root that contains it.
    ///
    /// Throws `MirrorError` with `usage`.
    ///
    /// - Parameter root: the root as a command names it; nil stands for the implied one.
    package static func refuse(
        _ path: String, amongFilesOf root: String? = nil
    ) throws(MirrorError) {
        let destination = destination(of: path)
        guard
            let place = resolved(destination)
                ?? resolved(folder(of: destination)).map({ $0 + "/" + lastName(of: destination) })
        else { return }
        // The root of a first run has no `.mirror` yet. One that cannot be told is refused elsewhere.
        let named = (try? RootLocation.Surroundings.ofThisProcess())
            .flatMap { try? RootLocation(root: root, surroundings: $0) }
            .flatMap { resolved($0.path) }
        var folder = place
        while folder != "/" {
            let name = lastName(of: folder)
            let parent = self.folder(of: folder)
            let isOwn = name == ".mirror" || Area(rawValue: name) != nil
            if isOwn, parent == named || access(parent + "/.mirror", F_OK) == 0 {
                throw MirrorError(
                    .usage,
                    "\(path.printable): it would lie in \(name), among the files that mirror keeps. Choose another place."
                )
            }
            folder = parent
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

    private static func lastName(of path: String) -> String {
        path.utf8.split(separator: UInt8(ascii: "/")).last.flatMap(String.init) ?? ""
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
