internal import CLinux
internal import Glibc
internal import Synchronization

/// Whether the network is metered, as NetworkManager says.
enum NetworkMetering: Sendable, Hashable {
    /// Bytes cost money, or are believed to.
    case metered
    /// Bytes cost no money.
    case unmetered
    /// NetworkManager gave no answer, for this reason, which may be shown to users.
    case unknown(String)

    /// Asks NetworkManager over D-Bus. Blocks for three seconds at most.
    ///
    /// A thread of its own waits for the answer, because sd-bus waits more than a minute for a
    /// system bus that hangs. Three seconds give a busy machine time to answer: without an answer,
    /// the network counts as free. The values are those of `NMMetered` in NetworkManager's D-Bus
    /// API: 1 means yes, and 3 means a guess of yes.
    static func read() -> NetworkMetering {
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
/// A watch does not report changes from before it was created.
final class NetworkWatch: Sendable {
    /// The descriptor to poll. It is readable while messages wait.
    let descriptor: Int32

    /// Creates a watch.
    /// Returns nil if the system reports no changes: then the back-off alone decides.
    init?() {
        descriptor = linux_network_watch()
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    /// Whether an address or a route was added since the last call.
    func hasReturned() -> Bool { linux_network_returned(descriptor) != 0 }
}
