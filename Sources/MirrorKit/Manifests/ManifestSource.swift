internal import CLinux
internal import Glibc

/// The place that a manifest is read from, as a user names it.
public enum ManifestSource: Sendable, Hashable {
    /// A file.
    case path(String)
    /// Standard input.
    case standardInput
    /// An http, https or s3 URL.
    case url(SourceURL)

    /// Reads an argument: `-`, an http(s) or s3 URL, or a path.
    ///
    /// Throws `MirrorError` with `usage` for a URL that is malformed.
    public init(argument: String) throws(MirrorError) {
        let lowered = argument.lowercased()
        if argument == "-" {
            self = .standardInput
        } else if ["http://", "https://", "s3://"].contains(where: lowered.hasPrefix) {
            do throws(SourceURLError) {
                self = .url(try SourceURL(argument, relativeTo: nil))
            } catch {
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

    /// Whether the path leads to something other than a regular file, for example a pipe.
    var isPipe: Bool {
        guard case .path(let path) = self else { return false }
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    }

    /// Whether reading the file takes longer than opening an index (more than 4 MiB).
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
    /// Reads the manifest on its own: without a root, so no root remembers it.
    ///
    /// Throws `ManifestError`, or `MirrorError` with `manifestUnreadable`.
    ///
    /// - Parameter hint: how to read the source if it is a list of another program.
    package func read(
        configuration: Configuration = Configuration(), hint: ListHint = ListHint()
    ) async throws -> DecodedManifest {
        try configuration.validate()
        let loader = ManifestLoader(
            view: TreeView(root: nil, index: nil), configuration: configuration, requests: .made,
            hint: hint)
        return try await loader.load(self).decoded
    }
}

/// Manifests that were read, with notices about how they were read.
package struct LoadedManifests: Sendable {
    /// The manifests, in the order of their sources.
    package var manifests: [Manifest] = []
    /// The decoded manifests with their warnings, in the same order.
    package var decoded: [DecodedManifest] = []
    /// Until when the server's response for each manifest is fresh, in the same order.
    ///
    /// `nil` if the server gave no time, or if no request was made.
    package var freshUntil: [Instant?] = []
    /// Notices for people, for example about the use of an old copy.
    package var notices: [Notice] = []
}

extension Manifest {
    /// Makes one manifest of several lists whose files belong into one tree.
    ///
    /// A file that several lists name becomes one resource, if the lists do not contradict each
    /// other.
    ///
    /// - Parameters:
    ///   - name: the name of the new manifest, which owns its files.
    ///   - lists: the lists that were read. Errors name them by their labels.
    /// - Throws: `ManifestError` with each file that two lists describe differently.
    package static func joined(
        name: String, _ lists: [DecodedManifest]
    ) throws(ManifestError) -> Manifest {
        var files = JoinedResources()
        var labels: [String] = []
        for list in lists {
            let label = list.manifest.label ?? list.manifest.owner
            for resource in list.manifest.resources where files.add(resource) {
                labels.append(label)
            }
        }
        let manifest = Manifest(name: name, owner: name, resources: files.resources)
        try manifest.refuse(manifest.flaws(), labels)
        return manifest
    }

    private func refuse(_ flaws: [ManifestRuleError], _ labels: [String]) throws(ManifestError) {
        guard !flaws.isEmpty else { return }
        let shown = flaws.prefix(DiagnosticLog.limit).map { flaw in
            let place = resources.place(at: flaw.position)
            let other = Quoted(labels[flaw.otherPosition])
            return Diagnostic(
                file: labels[flaw.position], line: place.line, column: place.column,
                severity: .error, message: "\(sentence(on: flaw)) (the other is in \(other))")
        }
        throw ManifestError(diagnostics: Array(shown), omitted: flaws.count - shown.count)
    }
}

extension Manifest {
    /// Throws if a resource of the manifest declares no digest that proves its bytes.
    ///
    /// The `ManifestError` names up to 20 of these resources with their places.
    ///
    /// - Parameter label: the user's name for the manifest. `nil` stands for the place that the
    ///   manifest was read from.
    public func refuseUnpinned(label: String? = nil) throws(ManifestError) {
        var diagnostics: [Diagnostic] = []
        var count = 0
        for position in resources.indices where resources[position].pin == nil {
            count += 1
            guard diagnostics.count < DiagnosticLog.limit else { continue }
            let place = resources.place(at: position)
            diagnostics.append(
                Diagnostic(
                    file: label ?? origin, line: place.line, column: place.column,
                    severity: .error,
                    message:
                        "\(resources.target(at: position)) has no sha256, sha512 or integrity, and all"
                        + " resources must be pinned; add one"))
        }
        guard count > 0 else { return }
        throw ManifestError(diagnostics: diagnostics, omitted: count - diagnostics.count)
    }

    /// The place that the manifest was read from, as diagnostics call it.
    private var origin: String {
        switch whereabouts {
        case .file(let path): path
        case .url(let key): key.description
        case .standardInput: "<stdin>"
        case .code: owner
        }
    }
}

/// The values for `${NAME}` in manifests that were read, and the origins that may get them.
public struct Secrets: Sendable, CustomStringConvertible, CustomReflectable {
    /// The names only.
    public var description: String { environment.keys.sorted().joined(separator: ", ") }

    /// The names only.
    public var customMirror: Mirror {
        Mirror(self, children: ["names": environment.keys.sorted()])
    }

    /// The names that may be used, each with the origins that may get its value.
    var grants: [Grant] = []
    /// The values by their names.
    public var environment: [String: String] = [:]
    /// A folder with one file for each name. A file is read if `environment` has no value for its
    /// name.
    public var credentialsFolder: String?

    /// Grants no value to any origin.
    public init() {}

    /// Grants values of this process, as the option `--env` does: `NAME`, or `NAME@ORIGIN`.
    ///
    /// Throws `MirrorError` with `usage` for a text of another form.
    public init(granting texts: [String]) throws(MirrorError) {
        self = .ofThisProcess(
            grants: try texts.map { text throws(MirrorError) in try Grant(text) })
    }

    /// Makes secrets from grants and from this process's values for them.
    ///
    /// The values come from the environment, and from `$CREDENTIALS_DIRECTORY` as systemd sets it
    /// (systemd.exec(5)).
    package static func ofThisProcess(grants: [Grant]) -> Secrets {
        var secrets = Secrets()
        secrets.grants = grants
        for grant in grants {
            if let value = getenv(grant.name) {
                secrets.environment[grant.name] = String(cString: value)
            }
        }
        secrets.credentialsFolder = getenv("CREDENTIALS_DIRECTORY").map { String(cString: $0) }
        return secrets
    }

    /// The text of a credential's file, up to 64 KiB. Returns nil if there is no readable UTF-8
    /// file.
    func credential(named name: String) -> String? {
        guard let folder = credentialsFolder, !folder.isEmpty else { return nil }
        // `O_NONBLOCK` keeps a pipe from blocking here; the positioned read below then fails for
        // the pipe.
        let number = open(folder + "/" + name, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard number >= 0 else { return nil }
        let file = Descriptor(owning: number)
        guard let bytes = try? file.bytes(at: 0, count: 64 << 10, path: name) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
