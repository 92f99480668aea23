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
    /// package-lock.json or npm-shrinkwrap.json.
    case npm
    /// poetry.lock.
    case poetry
    /// Pipfile.lock.
    case pipfile
    /// yarn.lock of yarn 1.
    case yarn
    /// pnpm-lock.yaml.
    case pnpm
    /// composer.lock.
    case composer
    /// Gemfile.lock.
    case gemfile
    /// An explicit list of conda.
    case conda
    /// Cargo.lock.
    case cargo
    /// go.sum.
    case goSum = "go-sum"
    /// The index `Packages` of a Debian archive.
    case debianPackages = "debian-packages"
    /// `Release` or `InRelease` of a Debian archive.
    case debianRelease = "debian-release"
    /// APKINDEX of an Alpine repository.
    case alpine
    /// The database of a repository of pacman.
    case pacman
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
    public var title: String { words.title }

    /// The notation of the format.
    package var notation: String { words.notation }

    private var words: (title: String, notation: String) {
        switch self {
        case .urls: ("a list of URLs", "plain text")
        case .aria2: ("an aria2 input file", "plain text")
        case .sums: ("a list of checksums", "plain text")
        case .pooch: ("a pooch registry", "plain text")
        case .requirements: ("requirements.txt", "plain text")
        case .pylock: ("pylock.toml", "TOML")
        case .uv: ("uv.lock", "TOML")
        case .npm: ("package-lock.json", "JSON")
        case .poetry: ("poetry.lock", "TOML")
        case .pipfile: ("Pipfile.lock", "JSON")
        case .yarn: ("yarn.lock", "plain text")
        case .pnpm: ("pnpm-lock.yaml", "plain text")
        case .composer: ("composer.lock", "JSON")
        case .gemfile: ("Gemfile.lock", "plain text")
        case .conda: ("an explicit list of conda", "plain text")
        case .cargo: ("Cargo.lock", "TOML")
        case .goSum: ("go.sum", "plain text")
        case .debianPackages: ("a Debian Packages index", "plain text")
        case .debianRelease: ("a Debian Release file", "plain text")
        case .alpine: ("an APKINDEX", "plain text")
        case .pacman: ("a pacman database", "plain text")
        case .repomd: ("repomd.xml", "XML")
        case .rpmPrimary: ("primary.xml", "XML")
        case .s3: ("an S3 listing", "XML")
        case .bagit: ("a BagIt manifest", "plain text")
        case .bagitFetch: ("BagIt's fetch.txt", "plain text")
        case .flatpak: ("flatpak-builder sources", "JSON")
        case .github: ("a GitHub release", "JSON")
        case .huggingFace: ("a Hugging Face tree", "JSON")
        case .metalink3: ("Metalink 3", "XML")
        case .cyclonedx: ("CycloneDX", "JSON")
        case .index: ("a directory listing", "HTML or JSON")
        }
    }
}
