internal import Glibc
public import MirrorModel

/// The place that a manifest comes from.
///
/// It decides which sources the manifest may name, and to which URL its URLs are relative.
public enum ManifestOrigin: Sendable, Hashable {
    /// A file; its folder is the base, and it may name `file:` sources.
    case file(path: String)
    /// Standard input: no base for URLs, no `file:` sources, and the manifest needs a name.
    case standardInput
    /// An http or https URL, which is the base; no `file:` sources, no passwords in URLs.
    case url(SourceURL)

    /// The URL against which a `base` is resolved, or any URL if there is no `base`.
    var ownURL: SourceURL? {
        switch self {
        case .file(let path): SourceURL(file: ManifestOrigin.absolute(path))
        case .standardInput: nil
        case .url(let url): url
        }
    }

    /// Whether the manifest was written on this machine, as far as that shows.
    package var isFile: Bool { if case .file = self { true } else { false } }

    /// Whether it is a URL that ends in a slash, as that of a directory listing does.
    var isFolder: Bool {
        if case .url(let url) = self { url.path.utf8.last == UInt8(ascii: "/") } else { false }
    }

    /// Whether the manifest belongs to another party, because it came by URL.
    var isRemote: Bool { if case .url = self { true } else { false } }

    /// The file's name, or that at the end of the URL; nil when there is none.
    var listName: String? {
        switch self {
        case .file(let path): path.parts(at: "/").last.map(String.init)
        case .standardInput: nil
        case .url(let url): url.lastSegment
        }
    }

    /// The file's name without its extension; nil when there is none.
    var stem: String? {
        var name = listName
        if case .url(let url) = self { name = name ?? url.host }
        guard let name, let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex
        else { return name }
        return String(name[..<dot])
    }

    private static func absolute(_ path: String) -> String {
        guard path.utf8.first != UInt8(ascii: "/"), let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        return String(cString: folder) + "/" + path
    }
}
