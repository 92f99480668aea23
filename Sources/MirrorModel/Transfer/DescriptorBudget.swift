/// How many transfers at once the files that a process may have open allow (getrlimit(2)).
///
/// A transfer at work has a socket and a part open; one that lands has its file, its folder, and the folder
/// in which that was made. Both may be so for as many as run. Beside them the program needs its own: the
/// index and its log, the lock, the root, what its threads wait for, and folders that are held open.
package enum DescriptorBudget {
    /// What is open beside transfers, at the most.
    static let others = 32
    /// What a transfer has open, at work and landing.
    static let each = 4

    /// As many as are wanted, or fewer; never none.
    package static func transfers(wanted: Int, limit: Int) -> Int {
        min(wanted, max(1, (limit - others) / each))
    }

    /// What people are told when there are fewer; nil when there are not.
    package static func notice(wanted: Int, limit: Int) -> String? {
        let count = transfers(wanted: wanted, limit: limit)
        guard count < wanted else { return nil }
        let transfers = count == 1 ? "1 transfer runs" : "\(count) transfers run"
        return "This process may have \(limit) files open, so \(transfers) at once instead of "
            + "\(wanted). `ulimit -n` raises that."
    }
}
