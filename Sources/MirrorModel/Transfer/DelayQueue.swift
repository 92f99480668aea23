/// Numbers that wait for a time, and which comes next.
///
/// A wait that is replaced or removed stays in the heap, and is skipped when it comes up.
struct DelayQueue: Sendable {
    private struct Delay: Comparable {
        let until: Int64
        let id: Int

        static func < (left: Delay, right: Delay) -> Bool {
            (left.until, left.id) < (right.until, right.id)
        }
    }

    private var heap = PriorityQueue<Delay>()
    private var delays: [Serial: (until: Int64, endsWithNetwork: Bool)] = [:]

    /// Adds a wait until a time in milliseconds, which the return of the network may end earlier.
    mutating func insert(_ id: Int, until: Int64, endsWithNetwork: Bool = false) {
        if let known = delays[id], known == (until, endsWithNetwork) { return }
        delays[id] = (until, endsWithNetwork)
        heap.insert(Delay(until: until, id: id))
    }

    /// Removes a wait.
    mutating func remove(_ id: Int) { if !delays.isEmpty { delays[id] = nil } }

    /// Removes and returns the next number whose time has come.
    mutating func popFirst(at now: Int64) -> Int? {
        guard let until = next, until <= now, let delay = heap.popFirst() else { return nil }
        delays[delay.id] = nil
        return delay.id
    }

    /// The time of the next wait.
    var next: Int64? {
        mutating get {
            while let delay = heap.first {
                if delays[delay.id]?.until == delay.until { return delay.until }
                _ = heap.popFirst()
            }
            return nil
        }
    }

    /// Ends the waits that the return of the network ends.
    mutating func endWithNetwork(at now: Int64) {
        for (id, delay) in delays where delay.endsWithNetwork { insert(id.number, until: now) }
    }
}
