public import MirrorModel
internal import MirrorStore

extension MirrorSession {
    /// Plans while the root's lock is held, and passes the plan to the body under the same lock.
    ///
    /// If the index proves to be damaged while the plan is made, it is moved aside and the plan is
    /// made anew: nothing was done yet. `before` is called whenever the lock was taken. Throws as
    /// `plan` does, and what the body throws.
    public func withPlan<Value: Sendable>(
        of manifests: [Manifest], options: PlanOptions = PlanOptions(),
        waitingSeconds wait: Int64 = 0, before: () async throws -> Void = {},
        _ body: (Plan) async throws -> Value
    ) async throws -> Value {
        var hasSeenDamage = false
        while true {
            do {
                // The lock was given up for a moment: another run may have it for as long.
                let wait = hasSeenDamage ? max(wait, 5) : wait
                return try await withEngine(waitingSeconds: wait) { engine in
                    try await before()
                    let plan: Plan
                    do { plan = try await self.plan(manifests, options: options) } catch {
                        if hasSeenDamage || !engine.index.hasSeenDamage { throw error }
                        throw DamagedWhilePlanning()
                    }
                    return try await body(plan)
                }
            } catch is DamagedWhilePlanning {
                // The engine that is closed now moved the index aside, or had it looked at.
                hasSeenDamage = true
            }
        }
    }
}

/// The index showed damage before anything was done.
private struct DamagedWhilePlanning: Error {}
