internal import Glibc

/// Throws if a path for a report, a log or an export lies among the files of a root.
///
/// These files are the areas and `.mirror` of the given root, and of any root that contains the
/// path. The error is a `MirrorError` with `usage`.
///
/// - Parameter root: the root as a command names it. `nil` stands for the default root.
package func refuseOwnFile(
    _ path: String, amongFilesOf root: String? = nil
) throws(MirrorError) {
    let destination = linkDestination(of: path)
    guard
        let place = resolvedPath(destination)
            ?? resolvedPath(folderPath(of: destination)).map({
                $0 + "/" + lastName(of: destination)
            })
    else { return }
    // The root of a first run has no `.mirror` yet. Other code reports a root that cannot be found.
    let named = (try? RootLocation(root: root)).flatMap { resolvedPath($0.path) }
    var folder = place
    while folder != "/" {
        let name = lastName(of: folder)
        let parent = folderPath(of: folder)
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

/// The path that open(2) would reach through links, even if the last link leads to no file.
private func linkDestination(of path: String) -> String {
    var path = path
    for _ in 0..<40 {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &buffer, buffer.count)
        guard count > 0 else { break }
        let bytes = buffer.prefix(count).map { UInt8(bitPattern: $0) }
        let link = String(decoding: bytes, as: UTF8.self)
        path = link.utf8.first == UInt8(ascii: "/") ? link : folderPath(of: path) + "/" + link
    }
    return path
}

private func lastName(of path: String) -> String {
    path.utf8.split(separator: UInt8(ascii: "/")).last.flatMap(String.init) ?? ""
}

private func folderPath(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
}
