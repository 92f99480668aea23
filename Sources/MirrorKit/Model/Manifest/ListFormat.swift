/// The format of a list of files that another program writes. mirror reads it like a manifest.
///
/// mirror tries the formats in this order: one with a narrow grammar comes before one with a wide
/// one.
package enum ListFormat: String, Sendable, Hashable, CaseIterable {
    /// URLs, one a line.
    case urls
    /// The input file of aria2: mirrors of a file on one line, options on the lines below.
    case aria2
    /// `manifest-sha256.txt` of a BagIt bag, or one with another algorithm.
    case bagit
    /// SHA256SUMS and the like, as coreutils and the BSDs write them.
    case sums
    /// `fetch.txt` of a BagIt bag.
    case bagitFetch = "bagit-fetch"
    /// A registry of pooch: name, digest, and perhaps a URL.
    case pooch
    /// go.sum.
    case goSum = "go-sum"
    /// pip's requirements.txt. mirror reads only requirements with URLs.
    case requirements
    /// pylock.toml (PEP 751).
    case pylock
    /// poetry.lock.
    case poetry
    /// uv.lock.
    case uv
    /// Cargo.lock.
    case cargo
    /// package-lock.json or npm-shrinkwrap.json.
    case npm
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
    /// A release of GitHub, or its assets, in JSON.
    case github
    /// The tree of a repository of Hugging Face in JSON.
    case huggingFace = "hugging-face"
    /// Sources of flatpak-builder in JSON.
    case flatpak
    /// Metalink 3.
    case metalink3
    /// CycloneDX in JSON.
    case cyclonedx
    /// A directory listing of a web server, in HTML or JSON.
    case index
}
