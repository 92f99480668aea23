@testable import MirrorKit

/// Workers that take their time, which is virtual: a slow disk is a number.
final class SimulatedWorkers: Workers {
    private let time: VirtualTime
    private let chance: Chance
    private let slowness: Int64

    /// - Parameter slowness: the most milliseconds that a piece of work takes.
    init(_ time: VirtualTime, _ chance: Chance, slowness: Int64) {
        self.time = time
        self.chance = chance
        self.slowness = slowness
    }

    func submit(_ work: @escaping @Sendable () -> Void) -> Bool {
        time.after(chance.number(0...slowness)) { work() }
        return true
    }

    func stop() {}
}
