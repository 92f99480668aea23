internal import CCurl
internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// libcurl's sets of running transfers: one for requests over HTTP/1.1, and one for all others.
///
/// There are two sets because libcurl 7.88 assigns a connection with an unfinished handshake to
/// requests that want another protocol than the connection will speak, and those requests fail.
/// In the set for HTTP/1.1 no connection ever has two requests at once. Each set is made on first
/// use.
final class MultiHandles {
    private let connections: Int
    private let shared: SharedConnections
    private var usual: MultiHandle?
    private var http1: MultiHandle?
    private var entries: [pollfd]
    private var network: NetworkWatch?
    private var watchesNetwork = false

    /// - Parameters:
    ///   - connections: maximum number of idle connections that each of them keeps.
    ///   - shared: what is known of the connections of both.
    ///   - signal: a signal that also ends a wait.
    init(connections: Int, shared: SharedConnections, signal: WakeSignal) {
        self.connections = connections
        self.shared = shared
        entries = [pollfd(fd: signal.descriptor, events: Int16(POLLIN), revents: 0)]
    }

    /// The set that a request belongs to. Throws `MirrorError` as `MultiHandle.init` does.
    func handle(for plan: RequestPlan) throws(MirrorError) -> MultiHandle {
        plan.usesHTTP1 ? try opened(&http1, isHTTP1: true) : try opened(&usual, isHTTP1: false)
    }

    private func opened(
        _ multi: inout MultiHandle?, isHTTP1: Bool
    ) throws(MirrorError) -> MultiHandle {
        if let multi { return multi }
        let made = try MultiHandle(connections: connections, shared: shared, isHTTP1: isHTTP1)
        entries.append(pollfd(fd: made.watch.descriptor, events: Int16(POLLIN), revents: 0))
        multi = made
        return made
    }

    /// Continues every transfer that can continue, without waiting; callbacks run inside.
    func perform() {
        shared.gather()
        usual?.perform()
        shared.send()
        http1?.perform()
    }

    /// The next transfer that ended.
    func nextEnd() -> (handle: UnsafeMutableRawPointer, result: CURLcode)? {
        usual?.nextEnd() ?? http1?.nextEnd()
    }

    /// The request that a handle of either set belongs to.
    func request(of handle: UnsafeMutableRawPointer) -> CurlRequest? {
        (usual ?? http1)?.request(of: handle)
    }

    /// Starts watching for a network that returns, which also ends a wait.
    func watchNetwork() {
        guard !watchesNetwork else { return }
        watchesNetwork = true
        network = NetworkWatch()
        if let network {
            entries.append(pollfd(fd: network.descriptor, events: Int16(POLLIN), revents: 0))
        }
    }

    /// Whether the network may have come back since the last call.
    func networkHasReturned() -> Bool { network?.hasReturned() ?? false }

    /// Waits until a transfer can continue, the signal is raised, or the time is over.
    func wait(milliseconds: Int64) {
        let now = SystemClock.monotonic()
        let limit = min(
            milliseconds, usual?.watch.timeLeft(now: now) ?? milliseconds,
            http1?.watch.timeLeft(now: now) ?? milliseconds)
        _ = poll(&entries, nfds_t(entries.count), Int32(clamping: limit))
    }
}
