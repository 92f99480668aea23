/// The number of transfers at once that the limit on open files allows (getrlimit(2)).
///
/// A transfer at work has a socket and a part open. A transfer that lands has open its file, its
/// folder, and the folder in which that was made. As many transfers as run may have both. Besides
/// them the program needs descriptors of its own: the index and its log, the lock, the root, those
/// that its threads wait on, and folders that are held open.
package enum DescriptorBudget {
    /// The most descriptors that are open besides those of transfers.
    static let others = 32
    /// The number of descriptors that a transfer has open, at work and landing.
    static let each = 4

    /// The wanted number, or fewer; at least one.
    package static func transfers(wanted: Int, limit: Int) -> Int {
        min(wanted, max(1, (limit - others) / each))
    }

    /// The message for users when there are fewer; nil when there are not.
    package static func notice(wanted: Int, limit: Int) -> String? {
        let count = transfers(wanted: wanted, limit: limit)
        guard count < wanted else { return nil }
        let transfers = count == 1 ? "1 transfer runs" : "\(count) transfers run"
        return "This process may have \(limit) files open, so \(transfers) at once instead of "
            + "\(wanted). `ulimit -n` raises that."
    }
}
