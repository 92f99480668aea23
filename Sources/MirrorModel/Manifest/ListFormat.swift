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
    /// A directory listing of a web server, in HTML or JSON.
    case index

    /// The name for people.
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
        case .index: "a directory listing"
        }
    }
}

extension ListFormat {
    /// The notation of the format.
    package var notation: String {
        switch self {
        case .npm, .flatpak, .github, .huggingFace, .cyclonedx: "JSON"
        case .index: "HTML or JSON"
        case .repomd, .rpmPrimary, .s3, .metalink3: "XML"
        case .pylock, .uv, .cargo: "TOML"
        default: "plain text"
        }
    }
}
