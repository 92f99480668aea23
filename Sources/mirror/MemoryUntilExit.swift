import Synchronization

/// Values that are freed with the process.
///
/// To free the steps of a long plan one by one takes time, and whoever started the command waits for it.
enum MemoryUntilExit {
    private static let values = Mutex<[any Sendable]>([])

    /// Keeps a value until the process ends.
    static func keep(_ value: some Sendable) { values.withLock { $0.append(value) } }
}
