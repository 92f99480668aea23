internal import CCurl
internal import MirrorModel
internal import MirrorSystem

/// libcurl's set of running transfers, with their connections (libcurl-multi(3)).
///
/// It belongs to the transfer thread; no other thread calls it.
final class MultiHandle {
    /// The set-up of libcurl, once in a process (curl_global_init(3)).
    private static let library = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

    private let multi: UnsafeMutableRawPointer
    /// Told of connections until the last one is closed, which is in `deinit`.
    private let shared: SharedConnections
    /// Whether all requests use HTTP/1.1: libcurl never has two of them on one connection.
    let isHTTP1: Bool
    /// When all transfers were continued last, in milliseconds.
    private var driven = SystemClock.monotonic()
    /// The sockets and the time that it waits for.
    let watch: SocketWatch

    /// Throws `MirrorError` where libcurl is not to be had, or where the process has as many descriptors
    /// as it may.
    ///
    /// - Parameters:
    ///   - connections: maximum number of idle connections that are kept.
    ///   - shared: is told of connections and of the requests that they carry.
    ///   - isHTTP1: whether all of its requests use HTTP/1.1.
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

    /// A handle for one transfer at a time.
    func makeEasy() -> EasyHandle { EasyHandle() }

    /// The request that a handle was connected to (CURLOPT_PRIVATE).
    func request(of handle: UnsafeMutableRawPointer) -> CurlRequest? {
        ccurl_get_pointer(handle, CURLINFO_PRIVATE).map {
            Unmanaged<CurlRequest>.fromOpaque($0).takeUnretainedValue()
        }
    }

    func add(_ easy: EasyHandle) { _ = curl_multi_add_handle(multi, easy.handle) }

    /// Removes a handle, outside of callbacks: inside of them libcurl refuses it.
    func remove(_ easy: EasyHandle) {
        let result = curl_multi_remove_handle(multi, easy.handle)
        assert(result == CURLM_OK, "a handle was removed inside a callback")
    }

    /// Continues every transfer that can continue, without waiting; callbacks run inside.
    ///
    /// Once a second all of them are, because libcurl 7.88 would not go on to a name's next address
    /// otherwise.
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

    /// The next transfer that ended.
    func nextEnd() -> (handle: UnsafeMutableRawPointer, result: CURLcode)? {
        var result = CURLE_OK
        guard let handle = ccurl_multi_next_end(multi, &result) else { return nil }
        return (handle, result)
    }
}
