internal import CLinux
internal import Glibc

/// Where the root is, and how that was decided.
///
/// An explicit root is taken as it is. An implied root (the current folder or an ancestor) is
/// refused where a slip would do harm. These are `/`, the home folder, and a folder that has
/// Documents, Caches or tmp but no `.mirror/`. A `tmp` with parts only is mirror's own.
struct RootLocation: Hashable {
    /// An absolute path.
    let path: String
    /// Whether the path comes from `--root` or `$MIRROR_ROOT`, so that mirror may make the folder.
    let isExplicit: Bool
    /// The part of the root's targets that this process has.
    var shard = Shard.whole

    /// Chooses `--root`, `$MIRROR_ROOT`, the nearest ancestor with `.mirror/`, or `currentFolder`.
    /// The first one that is set or found decides. Throws `MirrorError` with `rootUnusable`.
    ///
    /// - Parameters:
    ///   - currentFolder: an absolute path.
    ///   - variable: `$MIRROR_ROOT`; empty counts as unset.
    ///   - home: `$HOME`.
    init(
        root: String?, currentFolder: String, variable: String?, home: String?
    ) throws(MirrorError) {
        let named = root ?? variable.flatMap { $0.isEmpty ? nil : $0 }
        if let named {
            guard !named.isEmpty else {
                throw MirrorError(
                    .rootUnusable, "The root's name is empty.", remedy: Remedy(.chooseRoot))
            }
            path = named.utf8.first == UInt8(ascii: "/") ? named : currentFolder + "/" + named
            isExplicit = true
            return
        }
        isExplicit = false
        path = RootLocation.ancestor(of: currentFolder) ?? currentFolder
        if let reason = RootLocation.refusal(of: path, home: home) {
            throw MirrorError(
                .rootUnusable, "\(path): not taken as the root, because \(reason).",
                remedy: Remedy(.chooseRoot))
        }
    }

    /// Chooses the root by the current folder and the environment of this process.
    ///
    /// Throws `rootUnusable` also when the current folder is gone.
    init(root: String?) throws(MirrorError) {
        guard let folder = getcwd(nil, 0) else {
            throw MirrorError(
                .rootUnusable, "The current folder cannot be read (getcwd).",
                remedy: Remedy(.chooseRoot))
        }
        defer { free(folder) }
        try self.init(
            root: root, currentFolder: String(cString: folder),
            variable: getenv("MIRROR_ROOT").map { String(cString: $0) },
            home: getenv("HOME").map { String(cString: $0) })
    }

    /// Opens the root. If it was named explicitly and does not exist, makes the folder first.
    func open() throws(MirrorError) -> RootDirectory {
        if isExplicit, mkdir(path, 0o755) != 0, errno != EEXIST {
            let error = Errno(number: errno, call: "mkdir", path: path)
            throw MirrorError(
                .rootUnusable, "\(path): the root cannot be made: \(error).",
                remedy: Remedy(.chooseRoot))
        }
        return try RootDirectory(opening: path, shard: shard)
    }

    /// Opens the root. Returns nil if the folder does not exist yet.
    func openIfThere() throws(MirrorError) -> RootDirectory? {
        var status = stat()
        if stat(path, &status) != 0, errno == ENOENT { return nil }
        return try RootDirectory(opening: path, shard: shard)
    }

    private static func ancestor(of folder: String) -> String? {
        var folder = folder
        while true {
            if isFolder(folder + "/.mirror") { return folder.isEmpty ? "/" : folder }
            guard let slash = folder.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
            folder = String(folder[..<slash])
        }
    }

    private static func refusal(of path: String, home: String?) -> String? {
        if path == "/" { return "it is the file system's root" }
        if let home, isSameFolder(path, home) { return "it is the home folder" }
        if isFolder(path + "/.mirror") { return nil }
        let taken = Area.allCases.first { area in
            isFolder(path + "/" + area.rawValue) && !(area == .tmp && hasOnlyParts(path))
        }
        return taken.map { "it has a folder \($0.rawValue) and no .mirror" }
    }

    /// Whether `tmp` has nothing but parts, so that it was mirror that made it.
    private static func hasOnlyParts(_ path: String) -> Bool {
        guard let root = try? RootDirectory(opening: path),
            let names = try? root.openFolder(Area.tmp.rawValue).names(path: path)
        else { return false }
        return names.allSatisfy(PartRecord.isName)
    }

    private static func isFolder(_ path: String) -> Bool {
        (try? FileStatus(folder: AT_FDCWD, name: path, path: path).kind) == .folder
    }

    /// Whether two paths lead to the same folder, after links are followed.
    private static func isSameFolder(_ left: String, _ right: String) -> Bool {
        var first = stat()
        var second = stat()
        guard stat(left, &first) == 0, stat(right, &second) == 0 else { return left == right }
        return first.st_ino == second.st_ino && first.st_dev == second.st_dev
    }
}

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
