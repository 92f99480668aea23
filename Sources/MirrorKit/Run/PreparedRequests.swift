internal import MirrorManifests
internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// The requests of a plan: every use of `${NAME}` is checked before the first of them is sent.
///
/// The values are secrets: they are put into a request when it is made, and never printed, stored
/// or put into an error.
struct PreparedRequests: Sendable {
    private let expansion: SecretExpansion
    /// What the program has supplied.
    var supplied: [Origin: Headers] = [:]

    /// Names and values of headers.
    typealias Headers = [(name: String, value: String)]

    /// Throws `ManifestError` with each name that has no grant, or whose value is unset or empty.
    init(_ plan: Plan, secrets: Secrets) throws(ManifestError) {
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
    /// All origins are asked for at the same time. Throws `MirrorError` with `noCredentials` for the
    /// first that has none; the tasks that ask for the others are cancelled, and not waited for.
    func supplied(
        for plan: Plan, by credentials: @escaping @Sendable (Origin) async throws -> [HeaderField]
    ) async throws -> PreparedRequests {
        var origins: Set<Origin> = []
        for position in plan.steps.notable {
            let step = plan.steps[position]
            guard step.needsNetwork else { continue }
            for source in plan.resource(of: step)?.sources ?? [] where source.url.scheme != .file {
                origins.insert(source.url.origin)
            }
        }
        let (answers, answer) = AsyncStream.makeStream(
            of: (Origin, Result<Headers, any Error>).self)
        let tasks = origins.map { origin in
            Task {
                do {
                    let headers = try await credentials(origin).map(PreparedRequests.plain)
                    answer.yield((origin, .success(headers)))
                } catch { answer.yield((origin, .failure(error))) }
            }
        }
        defer { for task in tasks { task.cancel() } }
        var requests = self
        for await (origin, headers) in answers.prefix(origins.count) {
            do { requests.supplied[origin] = try headers.get() } catch {
                throw MirrorError(noCredentialsFor: origin, because: error)
            }
        }
        try Task.checkCancellation()
        return requests
    }

    /// The sources of a request for a resource of the plan, and the body of a POST; nil for a GET.
    func request(for resource: Resource) -> (sources: [PreparedSource], body: [UInt8]?) {
        let sources = resource.sources.map(prepared)
        return (sources, expansion.body(of: resource.method, for: resource.primary))
    }

    private func prepared(_ source: Source) -> PreparedSource {
        PreparedSource(url: source.url, key: SourceKey(source.url), headers: headers(of: source))
    }

    /// The name and the value of a header; throws if it has variables, which nothing fills in.
    static func plain(_ field: HeaderField) throws -> (name: String, value: String) {
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

extension MirrorError {
    /// The error for an origin whose credentials the program did not supply.
    fileprivate init(noCredentialsFor origin: Origin, because cause: any Error) {
        self.init(
            .noCredentials,
            "\(origin): no credentials were supplied: \(Self.cause(cause)). Nothing was fetched.")
    }

    /// What a program has thrown, within a sentence.
    static func cause(_ error: any Error) -> String {
        var text = String(describing: error)
        while text.last == "." { text.removeLast() }
        return Escaped(text, limit: 400).description
    }
}

/// The credentials of a run, which the program is asked for again when a server has refused them.
///
/// A token may expire in the middle of a run. All transfers whose token is refused wait for one
/// answer, and what the loop gets later has the new token. A token that is as good as new is not asked
/// for again: the program would be asked about each file of a server that refuses every token.
final class RenewedCredentials: Sendable {
    /// How long an origin's token is as good as new.
    private static let freshness = Duration.seconds(60)

    typealias Supplier = @Sendable (Origin) async throws -> [HeaderField]

    private struct State {
        var requests: PreparedRequests
        /// When an origin's credentials were supplied again, or not.
        var renewed: [Origin: ContinuousClock.Instant] = [:]
        /// Why they were not.
        var causes: [Origin: String] = [:]
        /// The sources that wait for an origin's credentials, while the program is asked for them.
        var asking: [Origin: [(source: PreparedSource, then: @Sendable (RenewedHeaders) -> Void)]] =
            [:]
        var tasks: [Task<Void, Never>] = []
    }

    private let supplier: Supplier
    private let state: Mutex<State>

    init(_ requests: PreparedRequests, from supplier: @escaping Supplier) {
        self.supplier = supplier
        state = Mutex(State(requests: requests))
    }

    /// The run's requests, with the credentials that were supplied last.
    var requests: PreparedRequests { state.withLock { $0.requests } }

    /// What a transfer calls for a source that has refused its credentials.
    var renewal: CredentialRenewal { { self.renew($0, then: $1) } }

    private func renew(
        _ source: PreparedSource, then: @escaping @Sendable (RenewedHeaders) -> Void
    ) {
        let origin = source.url.origin
        let answer = state.withLock { state -> RenewedHeaders? in
            let current = state.requests.supplied[origin] ?? []
            // Others were supplied after the request had been made.
            if !source.has(current) { return .headers(source.headers(with: current, without: [])) }
            if let last = state.renewed[origin],
                last.duration(to: .now) < RenewedCredentials.freshness
            {
                return .none(state.causes[origin] ?? "they were supplied a moment ago")
            }
            state.asking[origin, default: []].append((source, then))
            if state.asking[origin]?.count == 1 {
                state.tasks.append(Task { await self.ask(origin) })
            }
            return nil
        }
        if let answer { then(answer) }
    }

    private func ask(_ origin: Origin) async {
        let result: Result<PreparedRequests.Headers, any Error>
        do {
            result = .success(try await supplier(origin).map(PreparedRequests.plain))
        } catch { result = .failure(error) }
        let (waiting, old) = state.withLock { state in
            let old = state.requests.supplied[origin] ?? []
            switch result {
            case .success(let headers):
                state.requests.supplied[origin] = headers
                state.causes[origin] = nil
            case .failure(let error): state.causes[origin] = MirrorError.cause(error)
            }
            state.renewed[origin] = .now
            return (state.asking.removeValue(forKey: origin) ?? [], old)
        }
        for (source, then) in waiting {
            switch result {
            case .success(let new): then(.headers(source.headers(with: new, without: old)))
            case .failure(let error): then(.none(MirrorError.cause(error)))
            }
        }
    }

    /// Cancels the tasks that still ask.
    func stop() { for task in state.withLock({ $0.tasks }) { task.cancel() } }
}

extension PreparedSource {
    /// Whether all of these headers are among its own.
    fileprivate func has(_ others: PreparedRequests.Headers) -> Bool {
        others.allSatisfy { other in
            headers.contains { $0.name == other.name && $0.value == other.value }
        }
    }

    /// Its headers, in which some take the place of others.
    fileprivate func headers(
        with new: PreparedRequests.Headers, without old: PreparedRequests.Headers
    ) -> PreparedRequests.Headers {
        let names = Set((new + old).map { $0.name.lowercased() })
        return headers.filter { !names.contains($0.name.lowercased()) } + new
    }
}
