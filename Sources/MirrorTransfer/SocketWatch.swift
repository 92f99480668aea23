internal import CCurl
internal import CLinux
internal import Glibc
internal import MirrorSystem

/// Waits for one multi handle: for sockets, in an epoll(7) set, and for a time.
///
/// libcurl reports the sockets that it wants watched whenever they change (libcurl-multi(3),
/// "MULTI_SOCKET"). The set is a descriptor that can itself be polled, so that a caller can wait
/// for several sets at once.
final class SocketWatch {
    /// Readable while a socket is ready.
    let descriptor: Int32
    /// The events that are waited for, by socket; 0 for none.
    private var wanted: [UInt32] = []
    /// The time at which transfers want to continue by themselves. It is in milliseconds of the
    /// monotonic clock; 0 is at once.
    private var due: Int64?
    private let found: UnsafeMutableBufferPointer<epoll_event>

    /// Throws where the process has as many descriptors as it may.
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
            // Acting on one socket may have changed the wanted events of the next.
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

    /// The milliseconds until transfers want to continue by themselves; nil while none does.
    func timeLeft(now: Int64) -> Int64? { due.map { max(0, $0 - now) } }

    /// Whether that time has come; returns true once.
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
            // The next request on the connection sets it again. The socket is removed from the set
            // only if it becomes ready before that. A closed socket leaves the set by itself.
            default: 0
            }
        // libcurl tells the same of a shared connection for every request. It reports a socket as no
        // longer wanted before it closes it, so what is known is never of another with that number.
        guard wanted[index] != events else { return }
        wanted[index] = events
        if events != 0, linux_epoll_set(descriptor, socket, events) < 0 {
            // No event comes. The connect timeout or the stall clock then ends the request.
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

// These are functions because a closure literal would inherit the isolation of its place, and trap
// on another thread.

/// CURLMOPT_SOCKETFUNCTION.
func socketsChanged(
    _: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ what: Int32,
    _ context: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?
) -> Int32 {
    watch(context)?.want(what, of: socket)
    return 0
}

/// CURLMOPT_TIMERFUNCTION.
func timerChanged(
    _: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    watch(context)?.comeBack(after: milliseconds)
    return 0
}

private func watch(_ context: UnsafeMutableRawPointer?) -> SocketWatch? {
    context.map { Unmanaged<SocketWatch>.fromOpaque($0).takeUnretainedValue() }
}
