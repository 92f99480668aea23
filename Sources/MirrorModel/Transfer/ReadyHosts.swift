/// Hosts at which a transfer could start now if there were a place, best first.
///
/// A host is entered anew whenever something about it changes; what was entered before is known by
/// its stamp, and skipped when it comes up.
struct ReadyHosts: Sendable {
    /// What is known of a host, as far as it decides who goes first.
    enum Kind: Sendable, CaseIterable {
        /// It answers.
        case known
        /// It was not asked yet, or by few.
        case fresh
        /// It has been given time already, and has not answered.
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
