internal import CLinux
internal import Glibc

/// Reports when the network may be back: an address or a route was added (rtnetlink(7)).
///
/// It misses messages from before it was made, so it is made when the first connection is lost.
final class NetworkWatch {
    /// Readable while messages wait.
    let descriptor: Int32

    /// Returns nil where the system does not report changes: then the back-off alone decides.
    init?() {
        descriptor = linux_network_watch()
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    /// Whether an address or a route was added since the last call.
    func hasReturned() -> Bool { linux_network_returned(descriptor) != 0 }
}
