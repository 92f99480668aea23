internal import CCurl
internal import CLinux
internal import Glibc

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
    ///   - connections: maximum number of idle connections that each set keeps.
    ///   - shared: notes the connections of both sets, and the requests that they carry.
    ///   - signal: a signal that also ends `wait`.
    init(connections: Int, shared: SharedConnections, signal: WakeSignal) {
        self.connections = connections
        self.shared = shared
        entries = [pollfd(fd: signal.descriptor, events: Int16(POLLIN), revents: 0)]
    }

    /// Returns the set that a request belongs to. Throws `MirrorError` as `MultiHandle.init` does.
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
        usual?.perform()
        http1?.perform()
    }

    /// Returns the next transfer that ended, with its result. Returns nil if no other has ended.
    func nextEnd() -> (handle: UnsafeMutableRawPointer, result: CURLcode)? {
        usual?.nextEnd() ?? http1?.nextEnd()
    }

    /// Returns the request that a handle of either set belongs to.
    func request(of handle: UnsafeMutableRawPointer) -> CurlRequest? {
        (usual ?? http1)?.request(of: handle)
    }

    /// Starts watching for a network that returns. Its return also ends `wait`.
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

/// libcurl's set of running transfers, with their connections (libcurl-multi(3)).
///
/// One thread calls each object of this class: the transfer thread, or the thread of a `HeadProbe`.
final class MultiHandle {
    /// The result of setting libcurl up, once in a process (curl_global_init(3)).
    private static let library = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

    private let multi: UnsafeMutableRawPointer
    /// The object that notes each connection that closes. The last one closes in `deinit`.
    private let shared: SharedConnections
    /// Whether all requests use HTTP/1.1: libcurl never has two of them on one connection.
    let isHTTP1: Bool
    /// The time at which all transfers were last continued, in milliseconds.
    private var driven = SystemClock.monotonic()
    /// Waits for the sockets and the timer of this handle.
    let watch: SocketWatch

    /// Makes a multi handle.
    /// Throws `MirrorError` if libcurl makes none, or if the process has no descriptors left.
    ///
    /// - Parameters:
    ///   - connections: maximum number of idle connections that are kept.
    ///   - shared: notes the connections and the requests that they carry.
    ///   - isHTTP1: whether all requests of this handle use HTTP/1.1.
    init(connections: Int, shared: SharedConnections, isHTTP1: Bool) throws(MirrorError) {
        do { watch = try SocketWatch() } catch { throw MirrorError(error) }
        guard MultiHandle.library == CURLE_OK, let multi = curl_multi_init() else {
            throw MirrorError(.internalError, "libcurl cannot make a multi handle.")
        }
        self.multi = multi
        self.shared = shared
        self.isHTTP1 = isHTTP1
        ccurl_multi_set_watch(
            multi, socketsChanged, timerChanged, Unmanaged.passUnretained(watch).toOpaque())
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, connections)
    }

    deinit { curl_multi_cleanup(multi) }

    /// Returns a new handle for one transfer at a time.
    func makeEasy() -> EasyHandle { EasyHandle() }

    /// Returns the request that a handle was connected to (CURLOPT_PRIVATE).
    func request(of handle: UnsafeMutableRawPointer) -> CurlRequest? {
        ccurl_get_pointer(handle, CURLINFO_PRIVATE).map {
            Unmanaged<CurlRequest>.fromOpaque($0).takeUnretainedValue()
        }
    }

    func add(_ easy: EasyHandle) { _ = curl_multi_add_handle(multi, easy.handle) }

    /// Removes a handle. No callback may call this, because libcurl refuses it there.
    func remove(_ easy: EasyHandle) {
        let result = curl_multi_remove_handle(multi, easy.handle)
        assert(result == CURLM_OK, "a handle was removed inside a callback")
    }

    /// Continues every transfer that can continue, without waiting; callbacks run inside.
    ///
    /// Once a second it continues all transfers. Otherwise libcurl 7.88 would not go on to the next
    /// address of a name.
    func perform() {
        let now = SystemClock.monotonic()
        var running: Int32 = 0
        if now - driven >= 1000 {
            driven = now
            curl_multi_socket_all(multi, &running)
        }
        watch.eachReady { curl_multi_socket_action(multi, $0, $1, &running) }
        if watch.takeDue() {
            curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running)
        }
    }

    /// Returns the next transfer that ended, with its result. Returns nil if no other has ended.
    func nextEnd() -> (handle: UnsafeMutableRawPointer, result: CURLcode)? {
        var result = CURLE_OK
        guard let handle = ccurl_multi_next_end(multi, &result) else { return nil }
        return (handle, result)
    }
}

/// Waits for one multi handle: for its sockets, in an epoll(7) set, and for its timer.
///
/// libcurl reports the sockets that it wants watched whenever they change (libcurl-multi(3),
/// "MULTI_SOCKET"). The epoll set is a descriptor that can itself be polled, so a caller can wait
/// for several sets at once.
final class SocketWatch {
    /// The epoll set's descriptor, which is readable while a socket is ready.
    let descriptor: Int32
    /// The events that libcurl waits for, by socket number. 0 means no event.
    private var wanted: [UInt32] = []
    /// The time of the next timer, in milliseconds of the monotonic clock; 0 means at once.
    /// `nil` means that no timer runs.
    private var due: Int64?
    private let found: UnsafeMutableBufferPointer<epoll_event>

    /// Makes an empty epoll set. Throws if the process has no descriptors left.
    init() throws(Errno) {
        descriptor = try retryingLibc("epoll_create1", "") { epoll_create1(Int32(EPOLL_CLOEXEC)) }
        found = .allocate(capacity: 64)
    }

    deinit {
        found.deallocate()
        close(descriptor)
    }

    /// Calls `act` with each ready socket and its events, as `CURL_CSELECT_IN` and `_OUT`.
    func eachReady(_ act: (_ socket: curl_socket_t, _ events: Int32) -> Void) {
        let count = Int(epoll_wait(descriptor, found.baseAddress, Int32(found.count), 0))
        for event in found.prefix(max(0, count)) {
            let socket = event.data.fd
            // `act` may have changed the wanted events of the next socket.
            let wanted = wanted[Int(socket)]
            if wanted == 0 {
                linux_epoll_remove(descriptor, socket)
                continue
            }
            // A broken connection counts as ready for every wanted event: libcurl finds the failure
            // there.
            let isBroken = event.events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0
            let events = Self.curlEvents(isBroken ? wanted : event.events & wanted)
            if events != 0 { act(socket, events) }
        }
    }

    /// Returns the milliseconds until the timer is due. Returns nil if no timer runs.
    func timeLeft(now: Int64) -> Int64? { due.map { max(0, $0 - now) } }

    /// Returns whether the timer is due, and clears it. So each timer gives true only once.
    func takeDue() -> Bool {
        guard let due, due == 0 || due <= SystemClock.monotonic() else { return false }
        self.due = nil
        return true
    }

    private static func curlEvents(_ events: UInt32) -> Int32 {
        (events & EPOLLIN.rawValue == 0 ? 0 : CURL_CSELECT_IN)
            | (events & EPOLLOUT.rawValue == 0 ? 0 : CURL_CSELECT_OUT)
    }

    fileprivate func want(_ what: Int32, of socket: curl_socket_t) {
        let index = Int(socket)
        while wanted.count <= index { wanted.append(0) }
        let events: UInt32 =
            switch what {
            case CURL_POLL_IN: EPOLLIN.rawValue
            case CURL_POLL_OUT: EPOLLOUT.rawValue
            case CURL_POLL_INOUT: EPOLLIN.rawValue | EPOLLOUT.rawValue
            // The socket stays in the epoll set, because the next request on its connection sets
            // the events again. If the socket becomes ready before that, `eachReady` removes it.
            // The kernel removes a closed socket.
            default: 0
            }
        // libcurl repeats its report for each request of a shared connection. It reports a socket
        // as unwanted before it closes the socket. So `wanted` never describes an earlier socket
        // with the same number.
        guard wanted[index] != events else { return }
        wanted[index] = events
        if events != 0, linux_epoll_set(descriptor, socket, events) < 0 {
            // epoll reports no event for this socket. The connect timeout or the stall clock then
            // ends the request.
            wanted[index] = 0
        }
    }

    fileprivate func comeBack(after milliseconds: Int) {
        due =
            switch milliseconds {
            case ..<0: nil
            case 0: 0
            default: SystemClock.monotonic() + Int64(milliseconds)
            }
    }
}

// These are functions because a closure literal would inherit the actor isolation of the code
// around it, and trap on another thread.

/// The callback of CURLMOPT_SOCKETFUNCTION: notes the events that libcurl wants of a socket.
func socketsChanged(
    _: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ what: Int32,
    _ context: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?
) -> Int32 {
    watch(context)?.want(what, of: socket)
    return 0
}

/// The callback of CURLMOPT_TIMERFUNCTION: notes when libcurl wants the next call.
func timerChanged(
    _: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    watch(context)?.comeBack(after: milliseconds)
    return 0
}

private func watch(_ context: UnsafeMutableRawPointer?) -> SocketWatch? {
    context.map { Unmanaged<SocketWatch>.fromOpaque($0).takeUnretainedValue() }
}
