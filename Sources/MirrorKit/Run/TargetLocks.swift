internal import Synchronization

/// Which steps, readers and promotions of the process have each file of a folder.
///
/// A step claims its target before the transfer begins, so that two runs never fetch one file at
/// the same time. The claim lasts until the step ends, and does not concern readers. Readers share
/// a file. A promotion or a removal locks its files exclusively while it changes them.
///
/// |           | claim     | reader    | exclusive |
/// |-----------|-----------|-----------|-----------|
/// | claim     | waits     | together  | together  |
/// | reader    | together  | together  | waits     |
/// | exclusive | together  | waits     | waits     |
///
/// Readers and writers wait in one line, so readers that overlap for ever do not keep a promotion
/// out. A task that already holds a file of the folder goes ahead of the line. Otherwise the task
/// could wait for a writer that waits for that file. No thread waits while it holds the mutex.
final class TargetLocks: Sendable {
    fileprivate struct Lock {
        var claim: Claim?
        var readers = 0
        var isExclusive = false
        /// The readers and writers that wait, in order. Empty while the file is free.
        var line: [Waiter] = []

        /// Whether the file has no reader and no writer.
        var isFree: Bool { readers == 0 && !isExclusive }

        /// Claims the file for a step. Returns false if another step has it, which then tells the
        /// mailbox of its end.
        mutating func claim(by step: Int, orTell mailbox: Mailbox<RunMessage>?) -> Bool {
            if claim == nil { claim = Claim(step: step) }
            if claim?.step == step { return true }
            if let mailbox {
                claim?.waiters.append((RunRegister.position(of: step), mailbox))
            }
            return false
        }

        /// Whether a reader may begin now. `hasFiles`: its task already holds a file of the folder.
        func admits(readerWithFiles hasFiles: Bool) -> Bool {
            !isExclusive && (hasFiles || line.isEmpty)
        }
    }

    /// The claim of a step, and the steps of other runs that wait for its end.
    fileprivate struct Claim {
        let step: Int
        var waiters: [(position: Int, mailbox: Mailbox<RunMessage>)] = []

        func report(_ end: Result<Event.Done, MirrorError>?) {
            for waiter in waiters {
                waiter.mailbox.post(.inputs([.joined(waiter.position, end)]))
            }
        }
    }

    fileprivate enum Waiter {
        case reader(number: Int, CheckedContinuation<Bool, Never>)
        case writer(Writer)

        var isReader: Bool { if case .reader = self { true } else { false } }
    }

    /// A promotion or a removal that waits until all of its files are free at the same time.
    fileprivate struct Writer {
        let targets: [Target]
        let granted: @Sendable (MirrorError?) -> Void
        /// How often one of its files was free, and another was not.
        var attempts = 0
    }

    fileprivate struct State {
        var locks: [Target: Lock] = [:]
        /// The targets that servers named, by the steps that have claimed them beside their own.
        var named: [Int: Target] = [:]
        /// How many readers have come so far; each has its number.
        var readers = 0
    }

    private let state = Mutex(State())
    /// How often a writer of several files waits before it is refused.
    ///
    /// Without a limit it would wait for ever where some file always has a reader.
    fileprivate static let mostAttempts = 1000
}

// MARK: The folders of the process

extension TargetLocks {
    private struct Folder: Hashable {
        let device: UInt64
        let inode: UInt64
    }

    private struct Entry {
        weak var locks: TargetLocks?
    }

    private static let folders = Mutex<[Folder: Entry]>([:])

    /// The locks of a root's folder, which all sessions of the process in that folder share.
    static func of(_ root: RootDirectory) -> TargetLocks {
        // fstat(2) of an open descriptor succeeds. If it fails, the session gets locks of its own.
        guard let (device, inode) = root.folder else { return TargetLocks() }
        let folder = Folder(device: device, inode: inode)
        return folders.withLock { folders in
            if let locks = folders[folder]?.locks { return locks }
            folders = folders.filter { $0.value.locks != nil }
            let locks = TargetLocks()
            folders[folder] = Entry(locks: locks)
            return locks
        }
    }
}

// MARK: Claims

extension TargetLocks {
    /// Claims the targets of steps: all, or none if other steps have some of them.
    ///
    /// Returns the positions of the steps whose targets others have. The mailbox gets a message for
    /// each of them when the other step ends. A run that waits has claimed none of them, so no two
    /// runs can wait for each other.
    ///
    /// - Parameter wanted: the targets, each with the id of its step (`RunRegister.id`).
    func claim(
        _ wanted: [(target: Target, step: Int)], waiting mailbox: Mailbox<RunMessage>
    ) -> [Int] {
        state.withLock { state in
            var occupied: [Int] = []
            for (target, step) in wanted
            where !state.locks[target, default: Lock()].claim(by: step, orTell: mailbox) {
                occupied.append(RunRegister.position(of: step))
            }
            if !occupied.isEmpty {
                for (target, step) in wanted { _ = state.endClaim(on: target, by: step) }
            }
            return occupied
        }
    }

    /// Claims a target that a server named. Returns false if another step has the target.
    func claim(named target: Target, by step: Int) -> Bool {
        state.withLock { state in
            guard state.locks[target, default: Lock()].claim(by: step, orTell: nil) else {
                return false
            }
            state.named[step] = target
            return true
        }
    }

    /// Releases the targets of a step, and reports the step's end to the steps that wait for them.
    func release(_ target: Target, by step: Int, _ end: Result<Event.Done, MirrorError>?) {
        let (own, named) = state.withLock { state in
            let named = state.named.isEmpty ? nil : state.named.removeValue(forKey: step)
            return (
                state.endClaim(on: target, by: step),
                named.flatMap { state.endClaim(on: $0, by: step) }
            )
        }
        own?.report(end)
        named?.report(end)
    }
}

fileprivate extension TargetLocks.State {
    /// Removes a step's claim. Returns nil if another step has the target.
    mutating func endClaim(on target: Target, by step: Int) -> TargetLocks.Claim? {
        guard var lock = locks.removeValue(forKey: target) else { return nil }
        let isOwn = lock.claim?.step == step
        let claim = isOwn ? lock.claim.take() : nil
        if !lock.isFree || lock.claim != nil { locks[target] = lock }
        return claim
    }
}

// MARK: Readers

/// A reader's hold on a file, until the reader ends it.
final class FileLease: Sendable {
    /// The leases that the current task holds, and those of the tasks that started it.
    @TaskLocal static var held: [FileLease] = []

    fileprivate let locks: TargetLocks
    fileprivate let target: Target
    private let isOver = Atomic(false)

    fileprivate init(_ target: Target, of locks: TargetLocks) {
        (self.target, self.locks) = (target, locks)
    }

    /// Ends the hold. The first waiters for the file then get it.
    func end() {
        if isOver.exchange(true, ordering: .relaxed) { return }
        locks.change([target]) { $0.readers -= 1 }
    }

    /// Whether the reader still holds the file. A task may outlive the body that started it.
    fileprivate var isHeld: Bool { !isOver.load(ordering: .relaxed) }
}

extension TargetLocks {
    /// Takes a file for reading. Suspends while a writer has the file or waits ahead.
    ///
    /// Throws `MirrorError` with `cancelled` if the task is cancelled during the wait.
    func read(
        _ target: Target, isolation: isolated (any Actor)? = #isolation
    ) async throws(MirrorError) -> FileLease {
        let hasFiles = FileLease.held.contains { $0.locks === self && $0.isHeld }
        let number = state.withLock { state in
            state.readers += 1
            return state.readers
        }
        let hasBegun = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mayBegin = state.withLock { state -> Bool? in
                    var lock = state.locks[target] ?? Lock()
                    if lock.admits(readerWithFiles: hasFiles) {
                        lock.readers += 1
                    } else if Task.isCancelled {
                        return false
                    } else {
                        let waiter = Waiter.reader(number: number, continuation)
                        lock.line.insert(waiter, at: hasFiles ? 0 : lock.line.count)
                        state.locks[target] = lock
                        return nil
                    }
                    state.locks[target] = lock
                    return true
                }
                if let mayBegin { continuation.resume(returning: mayBegin) }
            }
        } onCancel: {
            leave(target, number)
        }
        guard hasBegun else {
            throw MirrorError(
                .cancelled, "\(target): cancelled before it was free.", target: target)
        }
        return FileLease(target, of: self)
    }

    /// Removes a cancelled reader from the line.
    private func leave(_ target: Target, _ number: Int) {
        let reader = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            for (place, waiter) in (state.locks[target]?.line ?? []).enumerated() {
                guard case .reader(number, let continuation) = waiter else { continue }
                state.locks[target]?.line.remove(at: place)
                return continuation
            }
            return nil
        }
        reader?.resume(returning: false)
    }

    /// Whether a file has a reader or a writer.
    func isInUse(_ target: Target) -> Bool {
        state.withLock { $0.locks[target]?.isFree == false }
    }

    /// The first of these files that is read under one of the leases. Returns nil if there is none.
    func first(of targets: [Target], under held: [FileLease]) -> Target? {
        if held.isEmpty { return nil }
        let read = Set(held.lazy.filter { $0.locks === self && $0.isHeld }.map(\.target))
        return targets.first(where: read.contains)
    }
}

// MARK: Writers

extension TargetLocks {
    /// Locks files exclusively if all are free. Otherwise locks none, and returns false.
    ///
    /// Then `granted` is called later, on any thread: with nil once the files are locked. It gets
    /// an error if one of the files is in use each time that another is free.
    func lock(_ targets: [Target], orLater granted: @escaping @Sendable (MirrorError?) -> Void)
        -> Bool
    {
        state.withLock { state in
            guard let busy = targets.first(where: { state.locks[$0]?.isFree == false }) else {
                state.lock(targets)
                return true
            }
            let writer = Writer(targets: targets, granted: granted)
            state.locks[busy]?.line.append(.writer(writer))
            return false
        }
    }

    /// Locks a file exclusively if it is free. Otherwise returns false.
    func lockIfFree(_ target: Target) -> Bool {
        state.withLock { state in
            if state.locks[target]?.isFree == false { return false }
            state.lock([target])
            return true
        }
    }

    /// Ends a writer's hold on files. The first waiters for each file then get it.
    func unlock(_ targets: [Target]) { change(targets) { $0.isExclusive = false } }

    /// Ends a use of files, and gives each file to its next waiters.
    fileprivate func change(_ targets: [Target], _ end: (inout Lock) -> Void) {
        let grants = state.withLock { state in
            var grants: [Grant] = []
            for target in targets {
                // Nearly always the line is empty, and the lock is not put back.
                guard var lock = state.locks.removeValue(forKey: target) else { continue }
                end(&lock)
                if lock.isFree, lock.line.isEmpty, lock.claim == nil { continue }
                state.locks[target] = lock
                state.passOn(target, &grants)
            }
            return grants
        }
        for grant in grants {
            switch grant {
            case .reader(let continuation): continuation.resume(returning: true)
            case .writer(let writer, let error): writer.granted(error)
            }
        }
    }

    fileprivate enum Grant {
        case reader(CheckedContinuation<Bool, Never>)
        case writer(Writer, MirrorError?)
    }
}

fileprivate extension TargetLocks.State {
    mutating func lock(_ targets: [Target]) {
        for target in targets { locks[target, default: TargetLocks.Lock()].isExclusive = true }
    }

    /// Gives a file to the next waiters: one writer, or all readers before the next writer.
    ///
    /// A writer that another file keeps waiting goes to the end of that file's line. So it holds
    /// none of its files while it waits. Otherwise a program that reads one of them and waits for
    /// another would deadlock.
    mutating func passOn(_ target: Target, _ grants: inout [TargetLocks.Grant]) {
        while let lock = locks[target], lock.isFree, let first = lock.line.first {
            guard case .writer(var writer) = first else {
                let readers = lock.line.prefix(while: \.isReader)
                for case .reader(_, let continuation) in readers {
                    grants.append(.reader(continuation))
                }
                locks[target]?.line.removeFirst(readers.count)
                locks[target]?.readers = readers.count
                return
            }
            locks[target]?.line.removeFirst()
            let others = writer.targets.filter { $0 != target }
            guard let busy = others.first(where: { locks[$0]?.isFree == false }) else {
                self.lock(writer.targets)
                return grants.append(.writer(writer, nil))
            }
            writer.attempts += 1
            if writer.attempts < TargetLocks.mostAttempts {
                locks[busy]?.line.append(.writer(writer))
            } else {
                grants.append(.writer(writer, .alwaysInUse(target)))
            }
        }
        if locks[target]?.isFree == true, locks[target]?.claim == nil { locks[target] = nil }
    }
}

extension MirrorError {
    /// The error for a file that the run's own caller reads.
    static func heldByCaller(_ target: Target) -> MirrorError {
        MirrorError(
            .locked,
            "\(target): it is read where this run was asked for, so it was kept. Run again after the reading.",
            target: target)
    }

    /// The error for a set of which some file was in use at each attempt.
    fileprivate static func alwaysInUse(_ target: Target) -> MirrorError {
        MirrorError(
            .locked,
            "\(target): this program reads files of the manifest all the time, so there was no moment to replace or remove it. Run again.",
            target: target)
    }
}
