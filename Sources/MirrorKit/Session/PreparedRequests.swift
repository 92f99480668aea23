internal import MirrorModel

/// The requests of a plan: every use of `${NAME}` is checked before the first of them is sent.
///
/// The values are secrets: they are put into a request when its turn comes, and never printed,
/// stored or put into an error.
struct PreparedRequests: Sendable {
    /// What is sent for a resource.
    struct Request: Sendable {
        var sources: [PreparedSource]
        /// The body of a POST; nil for a GET.
        var body: [UInt8]?
    }

    private let expansion: SecretExpansion

    /// Throws `ManifestRefusal` with each name that is not granted, unset or empty.
    init(_ plan: Plan, secrets: Secrets) throws(ManifestRefusal) {
        expansion = SecretExpansion(
            grants: secrets.grants, environment: secrets.environment,
            credential: { secrets.credential(named: $0) })
        for manifest in plan.manifests {
            try expansion.check(manifest, label: manifest.label, isLocal: manifest.isLocal)
        }
    }

    /// The request for a resource of the plan.
    func request(for resource: Resource) -> Request {
        let sources = resource.sources.map { source in
            PreparedSource(
                url: source.url, key: SourceKey(source.url), headers: expansion.headers(of: source))
        }
        let body = resource.sources.first.flatMap { expansion.body(of: resource.method, for: $0) }
        return Request(sources: sources, body: body)
    }
}

extension Manifest {
    /// What diagnostics call it.
    fileprivate var label: String {
        if case .file(let path) = whereabouts { return path }
        return owner
    }

    /// Whether it was written on this machine.
    fileprivate var isLocal: Bool {
        switch whereabouts {
        case .code, .file: true
        case .standardInput, .url: false
        }
    }
}
