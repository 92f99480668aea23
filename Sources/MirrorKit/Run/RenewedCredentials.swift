internal import MirrorModel
internal import MirrorTransfer
internal import Synchronization

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
        /// Those who wait for an origin that is being asked for.
        var asking: [Origin: [Waiter]] = [:]
        var tasks: [Task<Void, Never>] = []
    }

    private struct Waiter {
        let source: PreparedSource
        let then: @Sendable (RenewedHeaders) -> Void
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
            state.asking[origin, default: []].append(Waiter(source: source, then: then))
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
        for waiter in waiting {
            switch result {
            case .success(let new):
                waiter.then(.headers(waiter.source.headers(with: new, without: old)))
            case .failure(let error): waiter.then(.none(MirrorError.cause(error)))
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
