/// Hosts at which a transfer could start now if a place were free, best first.
///
/// A host is entered anew whenever its state changes. An older entry is recognized by its stamp,
/// and skipped when it comes up.
struct ReadyHosts: Sendable {
    /// The knowledge of a host that decides which one goes first.
    enum Kind: Sendable, CaseIterable {
        /// It answers.
        case known
        /// No request has asked it yet, or only a few have.
        case fresh
        /// It had time already, and has not answered.
        case reluctant
    }

    private struct Candidate: Comparable {
        let first: QueuedTransfer
        let host: Int
        let stamp: Int

        static func < (left: Candidate, right: Candidate) -> Bool { left.first < right.first }
    }

    private var known = PriorityQueue<Candidate>()
    private var fresh = PriorityQueue<Candidate>()
    private var reluctant = PriorityQueue<Candidate>()

    mutating func insert(_ host: Int, _ kind: Kind, first: QueuedTransfer, stamp: Int) {
        let candidate = Candidate(first: first, host: host, stamp: stamp)
        switch kind {
        case .known: known.insert(candidate)
        case .fresh: fresh.insert(candidate)
        case .reluctant: reluctant.insert(candidate)
        }
    }

    /// The best host of a kind.
    mutating func first(
        _ kind: Kind, _ states: [HostState]
    ) -> (first: QueuedTransfer, host: Int)? {
        switch kind {
        case .known: ReadyHosts.first(&known, states)
        case .fresh: ReadyHosts.first(&fresh, states)
        case .reluctant: ReadyHosts.first(&reluctant, states)
        }
    }

    private static func first(
        _ queue: inout PriorityQueue<Candidate>, _ states: [HostState]
    ) -> (first: QueuedTransfer, host: Int)? {
        while let candidate = queue.first {
            if states[candidate.host].stamp == candidate.stamp {
                return (candidate.first, candidate.host)
            }
            _ = queue.popFirst()
        }
        return nil
    }
}
