internal import CLinux
internal import Glibc
internal import MirrorModel
internal import Synchronization

/// Whether the network is metered, as NetworkManager says.
package enum NetworkMetering: Sendable, Hashable {
    /// Bytes cost money, or are believed to.
    case metered
    /// They do not.
    case unmetered
    /// NetworkManager could not be asked; the reason, fit to be shown.
    case unknown(String)

    /// Asks NetworkManager over D-Bus; blocks for three seconds at most.
    ///
    /// The values are those of `NMMetered` in NetworkManager's D-Bus API: 1 is yes, 3 a guess that
    /// it is. A thread of its own waits for it, since sd-bus gives a system bus that stands still more than a
    /// minute. A machine that is only busy gets time, because without an answer the network counts as free.
    package static func read() -> NetworkMetering {
        let answer = Mutex<NetworkMetering?>(nil)
        let isGiven = Semaphore()
        do throws(Errno) {
            try NativeThread("network") {
                let given = ask()
                answer.withLock { $0 = given }
                isGiven.post()
            }.detach()
        } catch {
            return .unknown("no thread can be had: \(error)")
        }
        _ = isGiven.wait(seconds: 3)
        return answer.withLock { $0 } ?? .unknown("NetworkManager does not answer")
    }

    private static func ask() -> NetworkMetering {
        var value: UInt32 = 0
        var problem = [CChar](repeating: 0, count: 256)
        guard linux_network_metered(&value, &problem, problem.count) == 0 else {
            let bytes = problem.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            return .unknown(Escaped(String(decoding: bytes, as: UTF8.self), limit: 200).description)
        }
        return value == 1 || value == 3 ? .metered : .unmetered
    }
}

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
