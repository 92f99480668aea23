/// Who waits for a time, and who is next.
///
/// A wait that is replaced or taken back stays in the heap, and says nothing when it comes up.
struct DelayQueue: Sendable {
    private struct Delay: Comparable {
        let until: Int64
        let id: Int

        static func < (left: Delay, right: Delay) -> Bool {
            (left.until, left.id) < (right.until, right.id)
        }
    }

    private var heap = PriorityQueue<Delay>()
    private var delays: [Int: (until: Int64, endsWithNetwork: Bool)] = [:]

    /// Waits until a time in milliseconds, or, where that was said, until the network is back.
    mutating func insert(_ id: Int, until: Int64, endsWithNetwork: Bool = false) {
        delays[id] = (until, endsWithNetwork)
        heap.insert(Delay(until: until, id: id))
    }

    /// Waits no more.
    mutating func remove(_ id: Int) { delays[id] = nil }

    /// The next whose time has come.
    mutating func popFirst(at now: Int64) -> Int? {
        guard let until = next, until <= now, let delay = heap.popFirst() else { return nil }
        delays[delay.id] = nil
        return delay.id
    }

    /// When the next one's time comes.
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
        for (id, delay) in delays where delay.endsWithNetwork { insert(id, until: now) }
    }
}
