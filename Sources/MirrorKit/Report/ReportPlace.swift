internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// The file that a report is written to.
package enum ReportPlace {
    /// Refuses a path beneath the areas or `.mirror` of a root, where only mirror's own files belong.
    ///
    /// Throws `MirrorError` with `usage`.
    package static func refuse(_ path: String, amongFilesOf root: String) throws {
        let resolved = realpath(root, nil)
        defer { free(resolved) }
        let root = resolved.map { String(cString: $0) } ?? root
        guard let folder = try FileReplacement(of: path).folder else { return }
        for name in Area.allCases.map(\.rawValue) + [".mirror"] {
            let own = root + "/" + name
            guard folder == own || folder.hasPrefix(own + "/") else { continue }
            throw MirrorError(
                .usage,
                "\(path.printable): it would lie in \(name), among the files that mirror keeps. Choose another place."
            )
        }
    }
}
