internal import CLinux
internal import Glibc
internal import MirrorManifests
public import MirrorModel

/// The place that a manifest is read from, as a user names it.
public enum ManifestSource: Sendable, Hashable {
    /// A file.
    case path(String)
    /// Standard input.
    case standardInput
    /// An http or https URL.
    case url(SourceURL)

    /// Reads an argument: `-`, an http(s) URL, or a path.
    ///
    /// Throws `MirrorError` with `usage` for a URL that is malformed.
    public init(argument: String) throws(MirrorError) {
        let lowered = argument.lowercased()
        if argument == "-" {
            self = .standardInput
        } else if lowered.hasPrefix("http://") || lowered.hasPrefix("https://") {
            do throws(URLFlaw) { self = .url(try SourceURL(argument, relativeTo: nil)) } catch {
                throw MirrorError(
                    .usage, "The manifest's URL cannot be used: \(error). Check how it is written.")
            }
        } else {
            self = .path(argument)
        }
    }

    /// Whether the manifest is read on this machine, without a request to a server.
    var isLocal: Bool {
        if case .url = self { return false }
        return true
    }

    /// Whether its path leads to a pipe or the like.
    var isPipe: Bool {
        guard case .path(let path) = self else { return false }
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    }

    /// Whether it takes longer to read than an index to open.
    var isLong: Bool {
        guard case .path(let path) = self else { return false }
        var status = stat()
        return stat(path, &status) == 0 && status.st_size > 4 << 20
    }

    /// The name of the manifest in diagnostics, without query and password.
    public var label: String {
        switch self {
        case .path(let path): path
        case .standardInput: "<stdin>"
        case .url(let url): url.description
        }
    }
}

extension ManifestSource {
    /// Reads the manifest by itself: without a root, and without remembering it.
    ///
    /// Throws `ManifestRefusal`, or `MirrorError` with `manifestUnreadable`.
    ///
    /// - Parameter hint: what is known of it if it is a list of another program.
    public func read(
        configuration: Configuration = Configuration(), hint: ListHint = ListHint()
    ) async throws -> DecodedManifest {
        try configuration.validate()
        let loader = ManifestLoader(
            view: TreeView(root: nil, index: nil), configuration: configuration, isOffline: false,
            hint: hint)
        return try await loader.load(self).decoded
    }
}

/// Manifests that were read, with notices about how they were read.
public struct LoadedManifests: Sendable {
    /// The manifests, in the order of their sources.
    public var manifests: [Manifest] = []
    /// The decoded manifests with their warnings, in the same order.
    public var decoded: [DecodedManifest] = []
    /// For each manifest, until when its server's answer is fresh; nil if the server did not say,
    /// or was not asked.
    public var freshUntil: [Instant?] = []
    /// Notices for people, for example of the use of an old copy.
    public var notices: [Notice] = []
}
