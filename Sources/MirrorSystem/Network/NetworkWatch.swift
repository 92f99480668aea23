internal import CLinux
internal import Glibc

/// Reports when the network may be back: an address or a route was added (rtnetlink(7)).
///
/// It misses messages from before it was made.
package final class NetworkWatch: Sendable {
    /// Readable while messages wait.
    package let descriptor: Int32

    /// Returns nil where the system does not report changes: then the back-off alone decides.
    package init?() {
        descriptor = linux_network_watch()
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    /// Whether an address or a route was added since the last call.
    package func hasReturned() -> Bool { linux_network_returned(descriptor) != 0 }
}
