internal import Synchronization

/// The requests of a plan. All uses of `${NAME}` are checked before the first request is sent.
///
/// The values are secrets. A value is put into a request when the request is made, and is never
/// printed, stored or put into an error.
struct PreparedRequests: Sendable {
    private let expansion: SecretExpansion
    /// The places that are asked in front of the sources.
    private let substitutes: Substitutes
    /// Signs requests for objects in buckets of S3.
    private let signer: S3Signer?
    /// The headers that the program has supplied for each origin.
    var supplied: [Origin: Headers] = [:]

    /// Names and values of headers.
    typealias Headers = [(name: String, value: String)]

    /// Checks a plan's use of secrets.
    ///
    /// Throws `ManifestError` with each name that has no grant, or whose value is unset or empty.
    init(
        _ plan: Plan, secrets: Secrets, substitutes: Substitutes = Substitutes(),
        signer: S3Signer? = nil
    ) throws(ManifestError) {
        self.substitutes = substitutes
        self.signer = signer
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

    /// The requests with the program's credentials for every origin that the plan's transfers may
    /// ask.
    ///
    /// All origins are asked for at the same time. Throws `MirrorError` with `noCredentials` for
    /// the first origin without credentials. The call then cancels the tasks for the other origins,
    /// and does not wait for them.
    func supplied(
        for plan: Plan, by credentials: @escaping @Sendable (Origin) async throws -> [HeaderField]
    ) async throws -> PreparedRequests {
        var origins: Set<Origin> = []
        for position in plan.steps.notable {
            let step = plan.steps[position]
            guard step.needsNetwork else { continue }
            for source in plan.resource(of: step)?.sources ?? []
            where source.url.scheme == .http || source.url.scheme == .https {
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

    /// The sources of a resource with their headers, and the body of a POST. The body is nil for a
    /// GET.
    ///
    /// Stores come first if the resource has a sha256, and each source comes behind its rewrites. A
    /// POST is sent to the resource's own source only, because it must not be sent twice.
    ///
    /// - Parameters:
    ///   - stored: the files of folder stores that have the bytes.
    ///   - withoutStores: whether no store is asked.
    func request(
        for resource: Resource, stored: [PreparedSource] = [], withoutStores: Bool = false
    ) -> (sources: [PreparedSource], body: [UInt8]?) {
        var sources = stored
        if resource.method == .get, !substitutes.isEmpty {
            if !withoutStores,
                let sha256 = resource.digests.first(where: { $0.algorithm == .sha256 })
            {
                for store in substitutes.stores {
                    guard let url = store.url else { continue }
                    let source = Source(url: Store.address(of: sha256, below: url))
                    sources.append(
                        prepared(source, place: store.place))
                }
            }
            for source in resource.sources { sources += rewritten(source) }
        } else {
            sources += resource.sources.map { prepared($0) }
        }
        return (sources, expansion.body(of: resource.method, for: resource.primary))
    }

    /// A source behind the places at which rewrites ask for it first.
    private func rewritten(_ source: Source) -> [PreparedSource] {
        guard source.url.scheme != .s3 else { return [prepared(source)] }
        return substitutes.sources(of: source.url) { url in
            headers(of: url == source.url ? source : Source(url: url))
        }
    }

    private func prepared(
        _ source: Source, place: String? = nil
    ) -> PreparedSource {
        let signer = source.url.scheme == .s3 ? signer : nil
        return PreparedSource(
            url: signer?.place.address(of: source.url) ?? source.url, key: SourceKey(source.url),
            headers: headers(of: source), place: place,
            signer: signer)
    }

    /// The name and the value of a header. Throws if the value has variables, which have no values
    /// here.
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

    /// Describes an error that the program has thrown, for use within a sentence.
    static func cause(_ error: any Error) -> String {
        var text = String(describing: error)
        while text.last == "." { text.removeLast() }
        return Escaped(text, limit: 400).description
    }
}

/// The credentials of a run, which the program supplies again after a server has refused them.
///
/// A token may expire during a run. All transfers whose token is refused wait for one reply of the
/// program. Later jobs get the new token. The program is not asked again within a minute: a server
/// may refuse every token, and the program would be asked for each file.
final class RenewedCredentials: Sendable {
    /// How long the program is not asked again for an origin.
    private static let freshness = Duration.seconds(60)

    typealias Supplier = @Sendable (Origin) async throws -> [HeaderField]

    private struct State {
        var requests: PreparedRequests
        /// When the program last supplied an origin's credentials again, or failed to.
        var renewed: [Origin: ContinuousClock.Instant] = [:]
        /// Why the program supplied no credentials for an origin.
        var causes: [Origin: String] = [:]
        /// The sources that wait for an origin's credentials while the program is asked.
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

    /// The function that a transfer calls for a source that has refused its credentials.
    var renewal: CredentialRenewal { { self.renew($0, then: $1) } }

    private func renew(
        _ source: PreparedSource, then: @escaping @Sendable (RenewedHeaders) -> Void
    ) {
        let origin = source.url.origin
        let answer = state.withLock { state -> RenewedHeaders? in
            let current = state.requests.supplied[origin] ?? []
            // The program has supplied newer headers since the request was made.
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

    /// Cancels the tasks in which the program is asked.
    func stop() { for task in state.withLock({ $0.tasks }) { task.cancel() } }
}

extension PreparedSource {
    /// Whether the source's headers include all of these headers.
    fileprivate func has(_ others: PreparedRequests.Headers) -> Bool {
        others.allSatisfy { other in
            headers.contains { $0.name == other.name && $0.value == other.value }
        }
    }

    /// The source's headers with `new` in place of the headers that are in `new` or `old`.
    fileprivate func headers(
        with new: PreparedRequests.Headers, without old: PreparedRequests.Headers
    ) -> PreparedRequests.Headers {
        let names = Set((new + old).map { $0.name.lowercased() })
        return headers.filter { !names.contains($0.name.lowercased()) } + new
    }
}
