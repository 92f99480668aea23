/// The number of transfers or connections at once that the limit on open files allows (getrlimit(2)).
///
/// A transfer at work has a socket and a part open. A transfer that lands has open its file, its
/// folder, and the folder in which that was made. As many transfers as run may have both. Besides
/// them the program needs descriptors of its own: the index and its log, the lock, the root, those
/// that its threads wait on, and folders that are held open.
package enum DescriptorBudget {
    /// The most descriptors that are open besides those of transfers.
    static let others = 32
    /// The most descriptors of a server besides those of connections: its threads open a file more each.
    static let othersOfServer = 48
    /// The number of descriptors that a transfer has open, at work and landing.
    static let each = 4

    /// The wanted number, or fewer; at least one.
    package static func transfers(wanted: Int, limit: Int) -> Int {
        min(wanted, max(1, (limit - others) / each))
    }

    /// The number of connections that a server may accept, at most the wanted one; at least one.
    ///
    /// Each has a socket and the file that it sends. Connections that find no place wait in the kernel's
    /// queue; accepted ones would be refused because their files cannot be opened.
    package static func connections(wanted: Int, limit: Int) -> Int {
        min(wanted, max(1, (limit - othersOfServer) / 2))
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
