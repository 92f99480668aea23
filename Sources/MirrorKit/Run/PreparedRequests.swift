internal import MirrorManifests
internal import MirrorModel
internal import MirrorSystem
internal import MirrorTransfer

/// The requests of a plan: every use of `${NAME}` is checked before the first of them is sent.
///
/// The values are secrets: they are put into a request when it is made, and never printed, stored
/// or put into an error.
struct PreparedRequests: Sendable {
    /// The sources and the body of a request for a resource.
    struct Request: Sendable {
        var sources: [PreparedSource]
        /// The body of a POST; nil for a GET.
        var body: [UInt8]?
    }

    private let expansion: SecretExpansion
    private var supplied: [Origin: [(name: String, value: String)]] = [:]

    /// Throws `ManifestRefusal` with each name that has no grant, or whose value is unset or empty.
    init(_ plan: Plan, secrets: Secrets) throws(ManifestRefusal) {
        expansion = SecretExpansion(
            grants: secrets.grants, environment: secrets.environment,
            credential: { secrets.credential(named: $0) })
        var onlyOrigins: [String: Origin] = [:]
        for manifest in plan.manifests where !plan.isOnlyRemovals {
            try expansion.check(
                manifest, label: manifest.label ?? manifest.owner, isLocal: manifest.isLocal,
                onlyOrigins: &onlyOrigins)
        }
    }

    /// The requests with the credentials of every origin that the plan's transfers may go to.
    ///
    /// Throws `MirrorError` with `noCredentials`.
    func supplied(
        for plan: Plan, by credentials: @Sendable (Origin) async throws -> [HeaderField]
    ) async throws -> PreparedRequests {
        var requests = self
        for position in plan.steps.notable {
            let step = plan.steps[position]
            guard step.needsNetwork else { continue }
            for source in plan.resource(of: step)?.sources ?? [] {
                let origin = source.url.origin
                guard origin.scheme != .file, requests.supplied[origin] == nil else { continue }
                do {
                    try Task.checkCancellation()
                    let fields = try await credentials(origin)
                    requests.supplied[origin] = try fields.map(PreparedRequests.plain)
                } catch {
                    throw MirrorError(
                        .noCredentials,
                        "\(origin): no credentials were supplied. Nothing was fetched.")
                }
            }
        }
        return requests
    }

    /// The request for a resource of the plan.
    func request(for resource: Resource) -> Request {
        let sources = resource.sources.map(prepared)
        let body = expansion.body(of: resource.method, for: resource.primary)
        return Request(sources: sources, body: body)
    }

    /// The request for a resource that has one source and sends no body.
    func request(for source: Source) -> Request { Request(sources: [prepared(source)]) }

    private func prepared(_ source: Source) -> PreparedSource {
        PreparedSource(url: source.url, key: SourceKey(source.url), headers: headers(of: source))
    }

    /// The name and the value of a header; throws if it has variables, which nothing fills in.
    private static func plain(_ field: HeaderField) throws -> (name: String, value: String) {
        guard let value = field.value.filled(by: { _ in nil })
        else { throw MirrorError(.noCredentials, "A header has a variable.") }
        return (field.name, value)
    }

    private func headers(of source: Source) -> [(name: String, value: String)] {
        let own = source.headers.isEmpty ? [] : expansion.headers(of: source)
        guard !supplied.isEmpty, let supplied = supplied[source.url.origin] else { return own }
        let names = Set(supplied.map { $0.name.lowercased() })
        return own.filter { !names.contains($0.name.lowercased()) } + supplied
    }
}

extension Manifest {
    /// Whether the manifest was written on this machine.
    fileprivate var isLocal: Bool {
        switch whereabouts {
        case .code, .file: true
        case .standardInput, .url: false
        }
    }
}
