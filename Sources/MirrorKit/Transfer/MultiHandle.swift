internal import CCurl

/// libcurl's set of running transfers, with their connections (libcurl-multi(3)).
///
/// It belongs to the transfer thread; nothing here is called from another.
final class MultiHandle {
    private let multi: UnsafeMutableRawPointer

    /// - Parameter connections: how many idle connections are kept.
    init(connections: Int) {
        _ = MultiHandle.isGloballyReady
        guard let multi = curl_multi_init() else { preconditionFailure("curl_multi_init") }
        self.multi = multi
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, connections)
    }

    deinit { curl_multi_cleanup(multi) }

    // curl_global_init(3) must be called once, before anything else of libcurl.
    private static let isGloballyReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    func add(_ easy: EasyHandle) { curl_multi_add_handle(multi, easy.handle) }

    func remove(_ easy: EasyHandle) { curl_multi_remove_handle(multi, easy.handle) }

    /// Lets every transfer do what it can without waiting; callbacks run inside.
    func perform() {
        var running: Int32 = 0
        curl_multi_perform(multi, &running)
    }

    /// The next transfer that ended.
    func nextEnd() -> (handle: UnsafeMutableRawPointer, result: CURLcode)? {
        var result = CURLE_OK
        guard let handle = ccurl_multi_next_end(multi, &result) else { return nil }
        return (handle, result)
    }

    /// Waits until a transfer can go on, the signal is raised, or so many milliseconds are over.
    func wait(for signal: WakeSignal, milliseconds: Int32) {
        var entry = curl_waitfd(fd: signal.descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        curl_multi_poll(multi, &entry, 1, milliseconds, nil)
    }
}
