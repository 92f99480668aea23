/// The order in which transfers are begun: higher priority first, then the hosts in turn.
///
/// What waits here costs eight bytes; a transfer that the loop knows costs a thousand. So the loop is
/// given a window of it, and taking the hosts in turn keeps all of them busy within the window.
public struct JobFeed: Sendable {
    private struct Queue {
        var positions: [Int]
        var next = 0
    }

    /// One list of queues for each priority, lowest first; one queue for each host.
    private var levels: [[Queue]] = []
    private var turn = 0

    /// How many have not been taken.
    public private(set) var count = 0

    /// Takes positions in the order of their plan, with their priorities and hosts.
    public init(
        _ entries: some Sequence<(position: Int, priority: Int32, host: String)> =
            EmptyCollection<(position: Int, priority: Int32, host: String)>()
    ) {
        var byPriority: [Int32: [String: [Int]]] = [:]
        var hostOrder: [Int32: [String]] = [:]
        for entry in entries {
            count += 1
            if byPriority[entry.priority]?[entry.host] == nil {
                hostOrder[entry.priority, default: []].append(entry.host)
            }
            byPriority[entry.priority, default: [:]][entry.host, default: []].append(entry.position)
        }
        for priority in byPriority.keys.sorted() {
            levels.append(
                (hostOrder[priority] ?? []).map {
                    Queue(positions: byPriority[priority]?[$0] ?? [])
                })
        }
    }

    /// Takes up to so many positions.
    public mutating func take(_ most: Int) -> [Int] {
        var taken: [Int] = []
        while taken.count < most, var queues = levels.popLast() {
            while taken.count < most, !queues.isEmpty {
                turn %= queues.count
                taken.append(queues[turn].positions[queues[turn].next])
                queues[turn].next += 1
                if queues[turn].next == queues[turn].positions.count {
                    queues.remove(at: turn)
                } else {
                    turn += 1
                }
            }
            if !queues.isEmpty { levels.append(queues) }
        }
        count -= taken.count
        return taken
    }
}
