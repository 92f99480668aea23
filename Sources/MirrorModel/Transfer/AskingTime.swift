/// Time in which bytes were asked for, as far as looks at a clock can tell.
///
/// Time in which mirror itself held back does not count: under a rate limit, while workers are
/// behind, while everything is paused. Neither does time in which the process did not run, stopped
/// or asleep with its machine: a jump between two looks counts as one look.
package struct AskingTime: Sendable {
    /// The longest time between two looks while a request asks for bytes, in milliseconds.
    package static let look: Int64 = 250
    /// The delay after which a look counts as prevented from coming earlier, in milliseconds.
    static let jump: Int64 = 1000

    /// The total in milliseconds.
    package private(set) var elapsed: Int64 = 0
    private var lookedAt: Int64

    package init(now: Int64) { lookedAt = now }

    /// Looks at the clock.
    ///
    /// - Parameter hasAsked: whether bytes were asked for since the last look.
    package mutating func look(now: Int64, hasAsked: Bool = true) {
        let passed = max(0, now - lookedAt)
        lookedAt = max(lookedAt, now)
        if hasAsked { elapsed += passed > AskingTime.jump ? AskingTime.look : passed }
    }
}
