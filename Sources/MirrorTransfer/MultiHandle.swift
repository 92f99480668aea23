internal import CCurl
internal import MirrorModel
internal import MirrorSystem

/// libcurl's set of running transfers, with their connections (libcurl-multi(3)).
///
/// It belongs to the transfer thread; no other thread calls it.
final class MultiHandle {
    private let curl: UnsafePointer<ccurl>
    private let multi: UnsafeMutableRawPointer
    /// Told of connections until the last one is closed, which is in `deinit`.
    private let shared: SharedConnections
    /// Whether all requests use HTTP/1.1: libcurl never has two of them on one connection.
    let isHTTP1: Bool
    /// When all transfers were continued last, in milliseconds.
    private var driven = SystemClock.monotonic()
    /// The sockets and the time that it waits for.
    let watch: SocketWatch

    /// Loads libcurl if it is not loaded yet. Throws `MirrorError` where libcurl is missing, or
    /// where the process has as many descriptors as it may.
    ///
    /// - Parameters:
    ///   - connections: maximum number of idle connections that are kept.
    ///   - shared: is told of connections and of the requests that they carry.
    ///   - isHTTP1: whether all of its requests use HTTP/1.1.
    init(connections: Int, shared: SharedConnections, isHTTP1: Bool) throws(MirrorError) {
        curl = try CurlLibrary.functions.get().table
        do { watch = try SocketWatch() } catch { throw MirrorError(error) }
        guard let multi = ccurl_multi_init(curl) else {
            throw MirrorError(.internalError, "libcurl cannot make a multi handle.")
        }
        self.multi = multi
        self.shared = shared
        self.isHTTP1 = isHTTP1
        ccurl_multi_set_watch(
            curl, multi, socketsChanged, timerChanged, Unmanaged.passUnretained(watch).toOpaque())
        _ = ccurl_multi_set_long(curl, multi, CURLMOPT_MAXCONNECTS, connections)
    }

    deinit { ccurl_multi_cleanup(curl, multi) }

    /// A handle for one transfer at a time.
    func makeEasy() -> EasyHandle { EasyHandle(curl) }

    /// The request that a handle was connected to (CURLOPT_PRIVATE).
    func request(of handle: UnsafeMutableRawPointer) -> CurlRequest? {
        ccurl_get_pointer(curl, handle, CURLINFO_PRIVATE).map {
            Unmanaged<CurlRequest>.fromOpaque($0).takeUnretainedValue()
        }
    }

    func add(_ easy: EasyHandle) { ccurl_multi_add(curl, multi, easy.handle) }

    /// Removes a handle, outside of callbacks: inside of them libcurl refuses it.
    func remove(_ easy: EasyHandle) {
        let result = ccurl_multi_remove(curl, multi, easy.handle)
        assert(result == CURLM_OK, "a handle was removed inside a callback")
    }

    /// Continues every transfer that can continue, without waiting; callbacks run inside.
    ///
    /// Once a second all of them are, because libcurl 7.88 would not go on to a name's next address
    /// otherwise.
    func perform() {
        let now = SystemClock.monotonic()
        if now - driven >= 1000 {
            driven = now
            ccurl_multi_act_all(curl, multi)
        }
        watch.eachReady { ccurl_multi_act(curl, multi, $0, $1) }
        if watch.takeDue() { ccurl_multi_act(curl, multi, CURL_SOCKET_TIMEOUT, 0) }
    }

    /// The next transfer that ended.
    func nextEnd() -> (handle: UnsafeMutableRawPointer, result: CURLcode)? {
        var result = CURLE_OK
        guard let handle = ccurl_multi_next_end(curl, multi, &result) else { return nil }
        return (handle, result)
    }
}
