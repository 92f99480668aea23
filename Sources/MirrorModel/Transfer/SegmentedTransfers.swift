/// Transfers that several connections may fetch, and when the number of those is looked at.
package struct SegmentedTransfers: Sendable {
    /// All of them.
    package private(set) var ids: Set<Int> = []
    /// When their numbers of connections were last held against what came.
    package var paced = LoadMeter()
    private var unlooked: Set<Int> = []

    package init() {}

    /// Whether one has to be looked at.
    package var hasUnlooked: Bool { !unlooked.isEmpty }

    /// Several connections may fetch a transfer from now on.
    package mutating func insert(_ id: Int) {
        ids.insert(id)
        unlooked.insert(id)
    }

    /// Only one connection fetches a transfer.
    package mutating func remove(_ id: Int) { ids.remove(id) }

    /// Notes that a transfer has to be looked at.
    package mutating func look(at id: Int) { unlooked.insert(id) }

    /// Takes those that have to be looked at.
    package mutating func takeUnlooked() -> Set<Int> {
        if unlooked.isEmpty { return [] }
        defer { unlooked = [] }
        return unlooked
    }
}

/// Tells whether a thread was busy since it was last asked.
package struct LoadMeter: Sendable {
    private var since: Int64
    private var busy: Int64 = 0

    /// - Parameter now: milliseconds.
    package init(now: Int64 = 0) { since = now }

    /// For how many milliseconds it was not asked.
    package func elapsed(now: Int64) -> Int64 { now - since }

    /// Whether the thread was busy for more than half of the time; begins anew.
    ///
    /// - Parameter busy: the processor time of the thread so far, in milliseconds.
    package mutating func restart(now: Int64, busy: Int64) -> Bool {
        let wasBusy = (busy - self.busy) * 2 > now - since
        (since, self.busy) = (now, busy)
        return wasBusy
    }
}
