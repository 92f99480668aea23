extension ListFormat {
    /// The URL that the names of a list are relative to, if the list itself came from a URL.
    ///
    /// Most lists lie beside their files. Nil where the list's URL does not tell.
    package func base(ofListAt url: SourceURL) -> SourceURL? {
        let path = url.path
        switch self {
        case .debianPackages:
            // Names are relative to the archive, above the folder of all its releases.
            let parts = path.split(separator: "/", omittingEmptySubsequences: false)
            guard let dists = parts.lastIndex(of: "dists") else { return url.beside("./") }
            return url.beside("/." + parts[..<dists].joined(separator: "/") + "/")
        case .repomd, .rpmPrimary:
            let folder = path.split(separator: "/").dropLast().last
            return url.beside(folder == "repodata" ? "../" : "./")
        case .s3: return url.beside("/." + path + (path.utf8.last == 0x2F ? "" : "/"))
        case .huggingFace: return ListFormat.files(ofTree: path).flatMap(url.beside)
        default: return url.beside("./")
        }
    }

    /// The name of a list that came from a URL, if its file's name is that of many lists; else nil.
    ///
    /// Each release of a Debian archive has an InRelease, and each of its components a Packages.
    package func name(ofListAt url: SourceURL) -> String? {
        // Many folders are called alike.
        if self == .index {
            return ([url.host[...]] + url.path.parts(at: "/")).joined(separator: "-")
        }
        guard self == .debianRelease || self == .debianPackages else { return nil }
        return url.beside("./")?.foldersOfRelease?.joined(separator: "-")
    }

    /// `/api/models/A/B/tree/REV` lists what `/A/B/resolve/REV/` serves.
    private static func files(ofTree path: String) -> String? {
        let parts = path.split(separator: "/")
        guard parts.count >= 6, parts[0] == "api", parts[4] == "tree" else { return nil }
        let kind = parts[1] == "models" ? [] : [parts[1]]
        return "/" + (kind + [parts[2], parts[3], "resolve", parts[5]]).joined(separator: "/") + "/"
    }
}

extension SourceURL {
    /// The folders behind `dists/` in a folder's URL, decoded; nil if there is none.
    ///
    /// A Debian archive has a release in each: `dists/bookworm/`, or `dists/bookworm/updates/`.
    package var foldersOfRelease: [String]? {
        let folders = path.split(separator: "/")
        guard let dists = folders.lastIndex(of: "dists") else { return nil }
        let behind = folders[(dists + 1)...].map { SourceURL.decoded($0) }
        let known = behind.compactMap(\.self)
        return known.isEmpty || known.count < behind.count ? nil : known
    }

    /// The URL of a reference that is relative to this one; nil if it is none.
    fileprivate func beside(_ reference: String) -> SourceURL? {
        try? SourceURL(reference, relativeTo: self)
    }
}
