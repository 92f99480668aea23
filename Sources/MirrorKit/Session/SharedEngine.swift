internal import Synchronization

/// The engine that all users of a session share. The first user opens it, and the last closes it.
///
/// While the engine is open, the session holds the root's lock. Each function runs on its caller's
/// actor.
final class SharedEngine: Sendable {
    private struct State {
        /// The task that opens the current engine, or has opened it. `nil` if there is none.
        var opening: Opening?
        /// The number of users of that engine.
        var users = 0
        /// The task that closes the previous engine, whose lock the next engine needs.
        var closing: Task<Void, any Error>?
    }

    private typealias Opening = Task<Engine, any Error>

    private let location: RootLocation
    private let configuration: Configuration
    private let state = Mutex(State())

    init(_ location: RootLocation, _ configuration: Configuration) {
        (self.location, self.configuration) = (location, configuration)
    }

    /// The engine, if it is open or about to be. Returns nil otherwise, or if opening it fails.
    func current(isolation: isolated (any Actor)? = #isolation) async -> Engine? {
        try? await state.withLock { $0.opening }?.value
    }

    /// Calls the closure with the engine; opens the engine if necessary, and keeps it open during
    /// the call.
    func using<Value: Sendable>(
        waitingSeconds wait: Int64, isolation: isolated (any Actor)? = #isolation,
        _ body: (Engine) async throws -> Value
    ) async throws -> Value {
        let (engine, opening) = try await acquire(wait: wait)
        return try await releasing(engine, opening, body)
    }

    /// Calls the closure with the root and the index for reading.
    ///
    /// If an engine is open, its root and index are used, and it stays open during the call. Throws
    /// for a damaged index. With `indexIsDispensable`, the closure gets no index instead.
    func reading<Value: Sendable>(
        indexIsDispensable isDispensable: Bool = false,
        isolation: isolated (any Actor)? = #isolation, _ body: (TreeView) async throws -> Value
    ) async throws -> Value {
        // No engine is needed: it cannot be opened while another process has the lock, but reading
        // can go on.
        if let opening = state.withLock({ join(&$0) }) {
            if let engine = try? await opening.value {
                return try await releasing(engine, opening) {
                    try await body(TreeView(root: $0.root, index: $0.index))
                }
            }
            forget(opening)
        }
        let location = location
        let view = try await Offload.run {
            guard let root = try location.openIfThere() else {
                return TreeView(root: nil, index: nil)
            }
            do throws(MirrorError) {
                return TreeView(root: root, index: try Index.openForReading(root))
            } catch {
                guard isDispensable, error.code == .inputOutput else { throw error }
                return TreeView(root: root, index: nil)
            }
        }
        // The index is closed here. Otherwise its last reference may be dropped on another thread
        // after the process has ended. Then the files of SQLite's log and shared memory would stay.
        let value: Value
        do { value = try await body(view) } catch {
            try? await Offload.run { try view.index?.close() }
            throw error
        }
        try await Offload.run { try view.index?.close() }
        return value
    }

    /// Throws for a damaged index. Callers need this if they cannot rebuild it and would query an
    /// empty one.
    func requireSoundIndex(isolation: isolated (any Actor)? = #isolation) async throws {
        try await reading { _ in }
    }

    /// The root; opens it if necessary. Returns nil if the folder does not exist yet.
    func rootIfThere(isolation: isolated (any Actor)? = #isolation) async throws -> RootDirectory? {
        if let engine = await current() { return engine.root }
        return try await Offload.run { [location] in try location.openIfThere() }
    }

    /// Throws for a plan of another root, before the run creates anything in this one.
    ///
    /// The folders are compared, not their paths: a plan describes what is in its folder.
    func refuse(
        madeForAnotherRoot plan: Plan, isolation: isolated (any Actor)? = #isolation
    ) async throws {
        let here = try await rootIfThere()
        let isSame: Bool
        if let planned = plan.rootFolder {
            isSame = here?.folder.map { $0 == planned } ?? false
        } else {
            // Without a folder at that time, or for a plan made in code, the paths are compared.
            let named = plan.root == location.path ? nil : try? RootDirectory(opening: plan.root)
            isSame =
                plan.root == location.path
                || named?.folder.flatMap { one in here?.folder.map { $0 == one } } ?? false
        }
        if isSame { return }
        throw MirrorError(
            .rootUnusable,
            plan.root == location.path
                ? "\(location.path): not the folder any more that the plan was made for. Make a new plan."
                : "\(location.path): the plan was made for another root, \(plan.root). Make one for this root."
        )
    }

    /// Calls blocking work with the root and the index.
    func look<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        _ work: @escaping @Sendable (TreeView) throws -> Value
    ) async throws -> Value {
        try await reading { view in try await Offload.run { try work(view) } }
    }

    /// Calls long blocking work with the root, the index and a function.
    ///
    /// The work calls the function to learn whether the caller's task was cancelled.
    func scan<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        _ work: @escaping @Sendable (TreeView, @escaping @Sendable () -> Bool) throws -> Value
    ) async throws -> Value {
        let cancellation = CancellationFlag()
        return try await reading { view in
            try await withTaskCancellationHandler {
                try await Offload.run { try work(view) { cancellation.isSet } }
            } onCancel: {
                cancellation.set()
            }
        }
    }
}

// MARK: Opening and closing

extension SharedEngine {
    /// Calls the closure with an acquired engine, and then releases the engine.
    private func releasing<Value: Sendable>(
        _ engine: Engine, _ opening: Opening, isolation: isolated (any Actor)? = #isolation,
        _ body: (Engine) async throws -> Value
    ) async throws -> Value {
        let value: Value
        do { value = try await body(engine) } catch {
            // The error of the closure is thrown, not that of the release.
            try? await release(opening)
            throw error
        }
        try await release(opening)
        return value
    }

    /// The engine and the task that opened it. The first caller that needs the engine starts the
    /// task.
    ///
    /// The task does not wait for a lock. Each caller waits for its own time and tries again.
    /// flock(2) does not report a released lock, and a wait inside it cannot be cancelled.
    private func acquire(
        wait: Int64, isolation: isolated (any Actor)? = #isolation
    ) async throws -> (engine: Engine, opening: Opening) {
        let clock = ContinuousClock()
        let deadline = clock.now.advanced(by: .seconds(wait))
        while true {
            let opening = state.withLock { state in join(&state) ?? begin(&state) }
            do { return (try await opening.value, opening) } catch {
                forget(opening)
                let isLocked = (error as? MirrorError)?.code == .locked
                guard isLocked, clock.now < deadline else { throw error }
            }
            do {
                let pause = min(Duration.milliseconds(100), clock.now.duration(to: deadline))
                try await clock.sleep(for: max(pause, .milliseconds(1)))
            } catch {
                throw MirrorError(.cancelled, "Cancelled while another run held the lock.")
            }
        }
    }

    /// Starts the task that opens the engine once the previous one is closed.
    ///
    /// The task fails with `locked` if another run has the lock now.
    private func begin(_ state: inout State) -> Opening {
        let (location, configuration) = (location, configuration)
        let closing = state.closing
        let opening = Task {
            // The caller that closed the previous engine got the error.
            _ = try? await closing?.value
            return try await Offload.run {
                let root = try location.open()
                let lock = try RootLock.tryAcquire(root, now: SystemClock.now())
                do {
                    return try Engine(root: root, lock: lock, configuration: configuration)
                } catch {
                    // The next attempt of this process must find the lock free.
                    lock.release()
                    throw error
                }
            }
        }
        (state.opening, state.users) = (opening, 1)
        return opening
    }

    /// Counts the caller as a user of the engine that is open or about to be.
    ///
    /// Returns nil if there is none; `begin` then sets the count.
    private func join(_ state: inout State) -> Opening? {
        state.users += 1
        return state.opening
    }

    /// Removes an opening that failed, unless a later one has replaced it.
    private func forget(_ opening: Opening) {
        state.withLock { state in
            if state.opening == opening { state.opening = nil }
        }
    }

    /// Releases the engine of an opening, and closes it if it has no other user.
    private func release(
        _ opening: Opening, isolation: isolated (any Actor)? = #isolation
    ) async throws {
        let closing: Task<Void, any Error>? = state.withLock { state in
            guard state.opening == opening else { return nil }
            state.users -= 1
            guard state.users == 0 else { return nil }
            let closing = Task { try await opening.value.close() }
            state.opening = nil
            state.closing = closing
            return closing
        }
        try await closing?.value
    }
}

/// A root and its index for reading. Each is nil if it does not exist yet.
struct TreeView: Sendable {
    let root: RootDirectory?
    let index: Index?

    /// The part of the targets that the session has.
    var shard: Shard { root?.shard ?? .whole }

    /// Whether the root and the index both exist.
    var isThere: Bool { root != nil && index != nil }
}
