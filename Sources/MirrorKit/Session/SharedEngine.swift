internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem
internal import Synchronization

/// The engine that the users of a session share: the first of them opens it, the last closes it.
///
/// While it is open, the session holds the root's lock. Its functions run where their callers do.
final class SharedEngine: Sendable {
    private struct State {
        var opening: Task<Engine, any Error>?
        /// The end of the previous engine, whose lock must be released first.
        var closing: Task<Void, any Error>?
        var users = 0
    }

    private let location: RootLocation
    private let configuration: Configuration
    private let state = Mutex(State())

    init(_ location: RootLocation, _ configuration: Configuration) {
        (self.location, self.configuration) = (location, configuration)
    }

    /// The engine, if it is open or about to be; nil otherwise.
    func current(isolation: isolated (any Actor)? = #isolation) async throws -> Engine? {
        try await state.withLock { $0.opening }?.value
    }

    /// Passes the engine to the body; opens it if necessary, and keeps it open meanwhile.
    func using<Value: Sendable>(
        waitingSeconds wait: Int64, isolation: isolated (any Actor)? = #isolation,
        _ body: (Engine) async throws -> Value
    ) async throws -> Value {
        try await releasing(try await acquire(wait: wait), body)
    }

    /// Passes the root and the index to the body for reading.
    ///
    /// If there is an engine, its root and index are used, and it stays open meanwhile.
    func reading<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation, _ body: (TreeView) async throws -> Value
    ) async throws -> Value {
        // If another process has the lock, there is no engine. Reading needs none.
        if let opening = join(), let engine = try? await engine(of: opening) {
            return try await releasing(engine) {
                try await body(TreeView(root: $0.root, index: $0.index))
            }
        }
        let location = location
        let view = try await Offload.run {
            guard let root = try location.openIfThere() else {
                return TreeView(root: nil, index: nil)
            }
            return TreeView(root: root, index: try IndexOpening.openForReading(root).index)
        }
        // The index is closed here. Its last reference may be dropped on another thread, after the
        // process has ended, and then the files of SQLite's log and shared memory stay.
        let value: Value
        do { value = try await body(view) } catch {
            try? await Offload.run { try view.index?.close(now: SystemClock.now()) }
            throw error
        }
        try await Offload.run { try view.index?.close(now: SystemClock.now()) }
        return value
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
        _ engine: Engine, isolation: isolated (any Actor)? = #isolation,
        _ body: (Engine) async throws -> Value
    ) async throws -> Value {
        let value: Value
        do { value = try await body(engine) } catch {
            // The first error is the one to throw.
            try? await release()
            throw error
        }
        try await release()
        return value
    }

    /// The engine; the first caller that needs it opens it.
    private func acquire(
        wait: Int64, isolation: isolated (any Actor)? = #isolation
    ) async throws -> Engine {
        let (task, isOpen) = state.withLock { state in
            state.users += 1
            if let opening = state.opening { return (opening, true) }
            let task = open(after: state.closing, wait: wait)
            state.opening = task
            return (task, false)
        }
        if isOpen { return try await engine(of: task) }
        do {
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch {
            state.withLock { state in
                state.users -= 1
                state.opening = nil
            }
            throw error
        }
    }

    /// Opens the engine once the previous one is closed.
    private func open(
        after closing: Task<Void, any Error>?, wait: Int64
    ) -> Task<Engine, any Error> {
        let (location, configuration) = (location, configuration)
        return Task {
            // The caller that closed the previous engine got its error.
            _ = try? await closing?.value
            let root = try await Offload.run { try location.open() }
            let lock = try await RootLock.acquire(
                root, now: SystemClock.now(), wait: .seconds(wait))
            do {
                return try await Offload.run {
                    try Engine(root: root, lock: lock, configuration: configuration)
                }
            } catch {
                // The next try of this process must not find it taken.
                lock.release()
                throw error
            }
        }
    }

    /// Makes the caller a user of the engine that is open or about to be; nil if there is none.
    private func join() -> Task<Engine, any Error>? {
        state.withLock { state in
            if state.opening != nil { state.users += 1 }
            return state.opening
        }
    }

    /// The engine that another caller opens; a caller that does not get it is no user of it.
    private func engine(
        of opening: Task<Engine, any Error>, isolation: isolated (any Actor)? = #isolation
    ) async throws -> Engine {
        do { return try await opening.value } catch {
            state.withLock { $0.users -= 1 }
            throw error
        }
    }

    /// Releases the engine, and closes it if it has no other user.
    private func release(isolation: isolated (any Actor)? = #isolation) async throws {
        let closing: Task<Void, any Error>? = state.withLock { state in
            state.users -= 1
            guard state.users == 0, let task = state.opening else { return nil }
            state.opening = nil
            let closing = Task { try await task.value.close() }
            state.closing = closing
            return closing
        }
        try await closing?.value
    }
}
