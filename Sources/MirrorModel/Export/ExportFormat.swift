/// What another program reads, made of the files that manifests want.
public enum ExportFormat: String, Sendable, Hashable, CaseIterable {
    /// The input file of aria2.
    case aria2
    /// SHA256SUMS, as `sha256sum -c` reads it in the root.
    case sums
    /// Metalink 4.
    case metalink
    /// A folder for pip's `--find-links`.
    case wheelhouse
    /// Commands that put packages into npm's cache.
    case npmCache = "npm-cache"
    /// A folder for Bazel's `--distdir`.
    case bazelDistdir = "bazel-distdir"
    /// A BagIt bag (RFC 8493).
    case bagit

    /// Whether it is a folder with copies of the files, and not a text.
    public var isFolder: Bool {
        switch self {
        case .wheelhouse, .bazelDistdir, .bagit: true
        case .aria2, .sums, .metalink, .npmCache: false
        }
    }

    /// Whether it is about files that the tree has, and not only about what is known of them.
    package var needsFiles: Bool { isFolder || self == .npmCache }

    /// What people call it.
    public var title: String {
        switch self {
        case .aria2: "an aria2 input file"
        case .sums: "SHA256SUMS"
        case .metalink: "Metalink 4"
        case .wheelhouse: "a wheelhouse"
        case .npmCache: "commands for npm's cache"
        case .bazelDistdir: "a distdir of Bazel"
        case .bagit: "a BagIt bag"
        }
    }
}
