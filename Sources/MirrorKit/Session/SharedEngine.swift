internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// The engine that the users of a session share: the first of them opens it, the last closes it.
///
/// While it is open, the session holds the root's lock. Its functions run where their callers do.
final class SharedEngine: Sendable {
    private struct State {
        /// Opens the engine that is open or about to be; nil where there is none.
        var opening: Opening?
        /// How many use that engine.
        var users = 0
        /// The end of the previous engine, whose lock must be released first.
        var closing: Task<Void, any Error>?
    }

    private typealias Opening = Task<Engine, any Error>

    private let location: RootLocation
    private let configuration: Configuration
    private let state = Mutex(State())

    init(_ location: RootLocation, _ configuration: Configuration) {
        (self.location, self.configuration) = (location, configuration)
    }

    /// The engine, if it is open or about to be; nil otherwise, and where it cannot be opened.
    func current(isolation: isolated (any Actor)? = #isolation) async -> Engine? {
        try? await state.withLock { $0.opening }?.value
    }

    /// Passes the engine to the body; opens it if necessary, and keeps it open until the body ends.
    func using<Value: Sendable>(
        waitingSeconds wait: Int64, isolation: isolated (any Actor)? = #isolation,
        _ body: (Engine) async throws -> Value
    ) async throws -> Value {
        let (engine, opening) = try await acquire(wait: wait)
        return try await releasing(engine, opening, body)
    }

    /// Passes the root and the index to the body for reading.
    ///
    /// If there is an engine, its root and index are used, and it stays open until the body ends. A
    /// damaged index is refused, or there is none where it `isDispensable`.
    func reading<Value: Sendable>(
        indexIsDispensable isDispensable: Bool = false,
        isolation: isolated (any Actor)? = #isolation, _ body: (TreeView) async throws -> Value
    ) async throws -> Value {
        // If another process has the lock, there is no engine. Reading needs none.
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
        // The index is closed here. Its last reference may be dropped on another thread, after the
        // process has ended, and then the files of SQLite's log and shared memory stay.
        let value: Value
        do { value = try await body(view) } catch {
            try? await Offload.run { try view.index?.close() }
            throw error
        }
        try await Offload.run { try view.index?.close() }
        return value
    }

    /// Refuses a damaged index, for callers that cannot rebuild it and would query an empty one.
    func requireSoundIndex(isolation: isolated (any Actor)? = #isolation) async throws {
        try await reading { _ in }
    }

    /// The root, opened if it is not; nil if there is no such folder yet.
    func rootIfThere(isolation: isolated (any Actor)? = #isolation) async throws -> RootDirectory? {
        if let engine = await current() { return engine.root }
        return try await Offload.run { [location] in try location.openIfThere() }
    }

    /// Refuses a plan of another root, before anything is made in this one.
    ///
    /// The folder counts, not its path: a plan says what is in it.
    func refuse(
        madeForAnotherRoot plan: Plan, isolation: isolated (any Actor)? = #isolation
    ) async throws {
        let here = try await rootIfThere()
        let isSame: Bool
        if let planned = plan.rootFolder {
            isSame = here?.folder.map { $0 == planned } ?? false
        } else {
            // There was no folder yet, or the plan was put together in code: its path counts.
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

    /// Passes the root and the index to work that blocks.
    func look<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        _ work: @escaping @Sendable (TreeView) throws -> Value
    ) async throws -> Value {
        try await reading { view in try await Offload.run { try work(view) } }
    }

    /// Passes the root and the index to work that blocks for long, and that asks whether the caller's
    /// task was cancelled.
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
    /// Passes an acquired engine to a body, and releases it afterwards.
    private func releasing<Value: Sendable>(
        _ engine: Engine, _ opening: Opening, isolation: isolated (any Actor)? = #isolation,
        _ body: (Engine) async throws -> Value
    ) async throws -> Value {
        let value: Value
        do { value = try await body(engine) } catch {
            // The first error is the one to throw.
            try? await release(opening)
            throw error
        }
        try await release(opening)
        return value
    }

    /// The engine, and the number of its opening; the first caller that needs it opens it.
    ///
    /// An opening waits for no lock. Each caller waits by itself, for its own time, and tries again:
    /// flock(2) does not report that a lock was released, and a wait inside it cannot be cancelled.
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

    /// Opens the engine once the previous one is closed. Fails with `locked` if another run has the
    /// lock now.
    private func begin(_ state: inout State) -> Opening {
        let (location, configuration) = (location, configuration)
        let closing = state.closing
        let opening = Task {
            // The caller that closed the previous engine got its error.
            _ = try? await closing?.value
            return try await Offload.run {
                let root = try location.open()
                let lock = try RootLock.tryAcquire(root, now: SystemClock.now())
                do {
                    return try Engine(root: root, lock: lock, configuration: configuration)
                } catch {
                    // The next try of this process must not find it taken.
                    lock.release()
                    throw error
                }
            }
        }
        (state.opening, state.users) = (opening, 1)
        return opening
    }

    /// Makes the caller a user of the engine that is open or about to be; nil if there is none.
    private func join(_ state: inout State) -> Opening? {
        state.users += 1
        return state.opening
    }

    /// Forgets an opening that failed, unless there is a later one.
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

/// A root and its index for reading; either may not be there yet.
struct TreeView: Sendable {
    let root: RootDirectory?
    let index: Index?

    /// Whether both are there.
    var isThere: Bool { root != nil && index != nil }
}
