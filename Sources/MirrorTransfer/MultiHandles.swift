internal import CCurl
internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// libcurl's sets of running transfers: one for the long bodies, which come over HTTP/1.1, and one for
/// everything else.
///
/// Two, because libcurl 7.88 gives a connection whose handshake is not over to requests that want
/// another protocol than it will speak, and those fail. Each is made when it is first needed: a run
/// that asks nobody loads no libcurl.
final class MultiHandles {
    private let connections: Int
    private var usual: MultiHandle?
    private var long: MultiHandle?
    private var entries: [pollfd]
    private var network: NetworkWatch?
    private var watchesNetwork = false

    /// - Parameters:
    ///   - connections: how many idle connections each of them keeps.
    ///   - signal: what ends a wait besides.
    init(connections: Int, signal: WakeSignal) {
        self.connections = connections
        entries = [pollfd(fd: signal.descriptor, events: Int16(POLLIN), revents: 0)]
    }

    /// The set that a request belongs to. Throws `MirrorError` as `MultiHandle.init` does.
    func handle(for plan: RequestPlan) throws(MirrorError) -> MultiHandle {
        plan.isLong ? try opened(&long) : try opened(&usual)
    }

    private func opened(_ multi: inout MultiHandle?) throws(MirrorError) -> MultiHandle {
        if let multi { return multi }
        let made = try MultiHandle(connections: connections)
        entries.append(pollfd(fd: made.watch.descriptor, events: Int16(POLLIN), revents: 0))
        multi = made
        return made
    }

    /// Lets every transfer that can go on do so, without waiting; callbacks run inside.
    func perform() {
        usual?.perform()
        long?.perform()
    }

    /// The next transfer that ended.
    func nextEnd() -> (handle: UnsafeMutableRawPointer, result: CURLcode)? {
        usual?.nextEnd() ?? long?.nextEnd()
    }

    /// The request that a handle of either belongs to.
    func request(of handle: UnsafeMutableRawPointer) -> CurlRequest? {
        (usual ?? long)?.request(of: handle)
    }

    /// Begins to look for a network that comes back, which ends a wait too.
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

    /// Waits until a transfer can go on, the signal is raised, or so many milliseconds are over.
    func wait(milliseconds: Int64) {
        let now = SystemClock.monotonic()
        let limit = min(
            milliseconds, usual?.watch.timeLeft(now: now) ?? milliseconds,
            long?.watch.timeLeft(now: now) ?? milliseconds)
        _ = poll(&entries, nfds_t(entries.count), Int32(clamping: limit))
    }
}
