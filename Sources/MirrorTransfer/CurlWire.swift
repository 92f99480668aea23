internal import CCurl
internal import MirrorModel
internal import MirrorSystem

/// Makes requests over libcurl: handles, their options, and the results of transfers.
final class CurlWire: Wire {
    private let settings: TransferSettings
    private let multis: MultiHandles
    let shared: SharedConnections
    /// Handles whose requests have ended, for reuse.
    private var idle: [CurlRequest] = []
    /// Requests that wait for a connection that they can share.
    private var waiting: [CurlRequest] = []
    /// The ends of requests whose connection could not be made.
    private var ends: [WireEnd] = []

    /// - Parameter signal: a signal that also ends a wait.
    init(_ configuration: Configuration, signal: WakeSignal) {
        settings = TransferSettings(configuration)
        shared = SharedConnections()
        multis = MultiHandles(
            connections: configuration.jobs, shared: shared, signal: signal)
    }

    func prepare(_ request: WireRequest, for active: ActiveRequest) throws(MirrorError) {
        let multi = try multis.handle(for: request.plan)
        let made =
            idle.popLast()
            ?? CurlRequest(
                multi: multi, shared: shared,
                publicAddressesOnly: settings.publicAddressesOnly)
        made.prepare(request, for: active, in: multi, settings: settings)
        active.connection = made
    }

    func begin(_ active: ActiveRequest) {
        guard let request = CurlWire.request(of: active) else { return }
        request.multi.add(request.easy)
    }

    func end(_ active: ActiveRequest) {
        guard let request = CurlWire.request(of: active) else { return }
        request.multi.remove(request.easy)
        if request.waitsForConnection { waiting.removeAll { $0 === request } }
        if !ends.isEmpty { ends.removeAll { $0.active === active } }
        request.release()
        active.connection = nil
        idle.append(request)
    }

    func resume(_ active: ActiveRequest) -> WireEnd? {
        guard let request = CurlWire.request(of: active) else { return nil }
        // The request may end while its bytes are delivered.
        return withExtendedLifetime(request) {
            let result = request.easy.resume()
            return result == CURLE_OK ? nil : request.end(result)
        }
    }

    func perform() {
        multis.perform()
        guard !waiting.isEmpty else { return }
        let ready = waiting.filter(\.mayGoOn)
        waiting.removeAll(where: \.mayGoOn)
        for request in ready {
            if let end = request.endWithoutConnection() { ends.append(end) } else { request.goOn() }
        }
    }

    func nextEnd() -> WireEnd? {
        if let end = ends.popLast() { return end }
        while let (handle, result) = multis.nextEnd() {
            guard let request = multis.request(of: handle) else { continue }
            if result != CURLE_OK, request.waitsForConnection, request.active?.version == nil {
                request.multi.remove(request.easy)
                waiting.append(request)
            } else if let end = request.end(result) {
                return end
            }
        }
        return nil
    }

    func endConnection(of active: ActiveRequest, ifSilentFor milliseconds: Int64) {
        CurlWire.request(of: active)?.endConnection(ifSilentFor: milliseconds)
    }

    func watchNetwork() { multis.watchNetwork() }

    func networkHasReturned() -> Bool { multis.networkHasReturned() }

    func wait(milliseconds: Int64) { multis.wait(milliseconds: milliseconds) }

    private static func request(of active: ActiveRequest) -> CurlRequest? {
        // Only this wire sets the connection.
        active.connection.map { unsafeDowncast($0, to: CurlRequest.self) }
    }
}
