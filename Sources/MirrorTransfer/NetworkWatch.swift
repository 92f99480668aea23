internal import CLinux
internal import Glibc

/// Tells when the network may be back: an address or a route was added (rtnetlink(7)).
///
/// What was said before it was made is not heard of, so it is made when the first connection is lost.
final class NetworkWatch {
    /// Readable while there is something to hear.
    let descriptor: Int32

    /// Nil where the system does not say: then the back-off alone decides.
    init?() {
        descriptor = linux_network_watch()
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    /// Whether an address or a route was added since the last call.
    func hasReturned() -> Bool { linux_network_returned(descriptor) != 0 }
}
