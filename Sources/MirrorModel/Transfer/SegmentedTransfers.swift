/// Transfers that several connections may fetch, and those whose connections need a look.
package struct SegmentedTransfers: Sendable {
    /// All these transfers.
    package private(set) var ids: Set<Int> = []
    /// Tells when their numbers of connections were last compared with the received bytes.
    package var paced = LoadMeter()
    private var unlooked: Set<Int> = []

    package init() {}

    /// Whether a transfer needs a look.
    package var hasUnlooked: Bool { !unlooked.isEmpty }

    /// Adds a transfer: several connections may fetch it from now on.
    package mutating func insert(_ id: Int) {
        ids.insert(id)
        unlooked.insert(id)
    }

    /// Removes a transfer: only one connection fetches it.
    package mutating func remove(_ id: Int) { ids.remove(id) }

    /// Notes that a transfer needs a look.
    package mutating func look(at id: Int) { unlooked.insert(id) }

    /// Returns the transfers that need a look, and clears the list.
    package mutating func takeUnlooked() -> Set<Int> {
        if unlooked.isEmpty { return [] }
        defer { unlooked = [] }
        return unlooked
    }
}

/// Tells whether a thread was busy since the last check.
package struct LoadMeter: Sendable {
    private var since: Int64
    private var busy: Int64

    /// - Parameter busy: the processor time of the thread so far; both in milliseconds.
    package init(now: Int64 = 0, busy: Int64 = 0) { (since, self.busy) = (now, busy) }

    /// The time since the last check, in milliseconds.
    package func elapsed(now: Int64) -> Int64 { now - since }

    /// Whether the thread was busy for more than half of that time; begins anew.
    ///
    /// - Parameter busy: the processor time of the thread so far, in milliseconds.
    package mutating func restart(now: Int64, busy: Int64) -> Bool {
        let wasBusy = (busy - self.busy) * 2 > now - since
        (since, self.busy) = (now, busy)
        return wasBusy
    }
}
