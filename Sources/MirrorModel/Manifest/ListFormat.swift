/// A list of files as another program writes it, which is read like a manifest.
public enum ListFormat: String, Sendable, Hashable, CaseIterable {
    /// URLs, one a line.
    case urls
    /// The input file of aria2: mirrors of a file on one line, options on the lines beneath.
    case aria2
    /// SHA256SUMS and the like, as coreutils and the BSDs write them.
    case sums
    /// A registry of pooch: name, digest, and perhaps a URL.
    case pooch
    /// pip's requirements.txt, as far as its requirements have URLs.
    case requirements
    /// pylock.toml (PEP 751).
    case pylock
    /// uv.lock.
    case uv
    /// package-lock.json, version 2 or 3.
    case npm
    /// Cargo.lock.
    case cargo
    /// go.sum.
    case goSum = "go-sum"
    /// The index `Packages` of a Debian archive.
    case debianPackages = "debian-packages"
    /// `Release` or `InRelease` of a Debian archive.
    case debianRelease = "debian-release"
    /// `repomd.xml` of an RPM repository.
    case repomd
    /// `primary.xml` of an RPM repository.
    case rpmPrimary = "rpm-primary"
    /// An answer of S3's ListObjectsV2.
    case s3
    /// `manifest-sha256.txt` of a BagIt bag, or one with another algorithm.
    case bagit
    /// `fetch.txt` of a BagIt bag.
    case bagitFetch = "bagit-fetch"
    /// Sources of flatpak-builder in JSON.
    case flatpak
    /// A release of GitHub, or its assets, in JSON.
    case github
    /// The tree of a repository of Hugging Face in JSON.
    case huggingFace = "hugging-face"
    /// Metalink 3.
    case metalink3
    /// CycloneDX in JSON.
    case cyclonedx

    /// What people call it.
    public var title: String {
        switch self {
        case .urls: "a list of URLs"
        case .aria2: "an aria2 input file"
        case .sums: "a list of checksums"
        case .pooch: "a pooch registry"
        case .requirements: "requirements.txt"
        case .pylock: "pylock.toml"
        case .uv: "uv.lock"
        case .npm: "package-lock.json"
        case .cargo: "Cargo.lock"
        case .goSum: "go.sum"
        case .debianPackages: "a Debian Packages index"
        case .debianRelease: "a Debian Release file"
        case .repomd: "repomd.xml"
        case .rpmPrimary: "primary.xml"
        case .s3: "an S3 listing"
        case .bagit: "a BagIt manifest"
        case .bagitFetch: "BagIt's fetch.txt"
        case .flatpak: "flatpak-builder sources"
        case .github: "a GitHub release"
        case .huggingFace: "a Hugging Face tree"
        case .metalink3: "Metalink 3"
        case .cyclonedx: "CycloneDX"
        }
    }
}

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

    /// `/api/models/A/B/tree/REV` lists what `/A/B/resolve/REV/` serves.
    private static func files(ofTree path: String) -> String? {
        let parts = path.split(separator: "/")
        guard parts.count >= 6, parts[0] == "api", parts[4] == "tree" else { return nil }
        let kind = parts[1] == "models" ? [] : [parts[1]]
        return "/" + (kind + [parts[2], parts[3], "resolve", parts[5]]).joined(separator: "/") + "/"
    }
}

extension SourceURL {
    /// The URL of a reference that is relative to this one; nil if it is none.
    fileprivate func beside(_ reference: String) -> SourceURL? {
        try? SourceURL(reference, relativeTo: self)
    }

    /// The reference to a name beneath a folder, in which no byte has a meaning but the slash.
    package static func reference(toName name: String) -> String {
        var text = Array("./".utf8)
        for byte in name.utf8 {
            if PercentEncoding.isPathByte(byte) {
                text.append(byte)
            } else {
                PercentEncoding.append(byte, to: &text)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// A value of a query, in which no byte has a meaning of its own.
    package static func queryValue(_ text: String) -> String {
        var value: [UInt8] = []
        for byte in text.utf8 {
            let isPlain = PercentEncoding.isPathByte(byte) && !"+&=;".utf8.contains(byte)
            if isPlain { value.append(byte) } else { PercentEncoding.append(byte, to: &value) }
        }
        return String(decoding: value, as: UTF8.self)
    }

    /// The text with each `%XX` replaced by its byte; nil if the bytes are no UTF-8.
    package static func decoded(_ text: some StringProtocol) -> String? {
        String(validating: PercentEncoding.decode(Array(text.utf8)), as: UTF8.self)
    }
}
