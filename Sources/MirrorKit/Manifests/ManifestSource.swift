internal import MirrorManifests
public import MirrorModel

/// Where a manifest is to be read from, as a user names it.
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

    /// Whether it is read here, without asking a server.
    var isLocal: Bool {
        if case .url = self { return false }
        return true
    }

    /// What diagnostics call it; no query, no password.
    public var label: String {
        switch self {
        case .path(let path): path
        case .standardInput: "<stdin>"
        case .url(let url): url.description
        }
    }
}

/// Manifests that were read, and what is to be said about how.
public struct LoadedManifests: Sendable {
    /// The manifests, in the order of their sources.
    public var manifests: [Manifest] = []
    /// What was decoded, with warnings, in the same order.
    public var decoded: [DecodedManifest] = []
    /// Sentences for people, as when an old copy had to serve.
    public var notices: [String] = []
}
