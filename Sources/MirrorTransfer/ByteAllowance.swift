internal import Synchronization

/// How many body bytes the transfers of a run may bring, and how many they brought.
///
/// The loop takes from it before each write of libcurl, so at most one write a connection goes beyond.
/// The thread of the run says how many are allowed, and decides what follows.
package final class ByteAllowance: Sendable {
    private let brought = Atomic<Int64>(0)
    private let limit = Atomic<Int64>(.max)
    private let reached: @Sendable () -> Void

    /// - Parameter reached: called by the loop when the limit is reached.
    package init(reached: @escaping @Sendable () -> Void) { self.reached = reached }

    /// The bytes that came, those that were dropped included.
    package var taken: Int64 { brought.load(ordering: .relaxed) }

    /// Sets how many bytes may come in the whole run.
    package func allow(_ bytes: Int64) { limit.store(bytes, ordering: .relaxed) }

    /// Whether no more bytes may come.
    var isSpent: Bool { taken >= limit.load(ordering: .relaxed) }

    func take(_ bytes: Int) {
        let before = isSpent
        brought.wrappingAdd(Int64(bytes), ordering: .relaxed)
        if !before, isSpent { reached() }
    }
}
