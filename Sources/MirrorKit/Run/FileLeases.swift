internal import Synchronization

/// A reader's hold on a file, until the reader ends it.
final class FileLease: Sendable {
    /// The leases that the current task holds, and those of the tasks that started it.
    @TaskLocal static var held: [FileLease] = []

    fileprivate let leases: FileLeases
    fileprivate let target: Target
    private let isOver = Atomic(false)

    fileprivate init(_ target: Target, of leases: FileLeases) {
        (self.target, self.leases) = (target, leases)
    }

    /// Ends the hold. The first waiters for the file then get it.
    func end() {
        if isOver.exchange(true, ordering: .relaxed) { return }
        leases.give(target)
    }

    /// Whether the reader still holds the file. A task may outlive the body that started it.
    fileprivate var isHeld: Bool { !isOver.load(ordering: .relaxed) }
}

/// Keeps files from being replaced or removed while they are read.
///
/// All sessions of a process that use one folder share its leases. Readers share a file. A writer
/// (a promotion or a removal) has the file exclusively. Readers and writers wait in one line, so
/// readers that overlap for ever do not keep a promotion out. A task that already holds a file of
/// the folder goes ahead of the line. Otherwise the task could wait for a writer that waits for
/// that file. No thread waits while it holds the mutex.
final class FileLeases: Sendable {
    private enum Waiter {
        case reader(number: Int, CheckedContinuation<Bool, Never>)
        case writer(@Sendable () -> Void)
    }

    private struct Lease {
        var readers = 0
        var hasWriter = false
        /// The waiters in order. Empty while the file is free.
        var line: [Waiter] = []

        var isFree: Bool { readers == 0 && !hasWriter }

        /// Whether a reader may begin now. `hasFiles`: its task already holds a file of the folder.
        func admits(readerWithFiles hasFiles: Bool) -> Bool {
            !hasWriter && (hasFiles || line.isEmpty)
        }

        /// Removes the next waiters from the line: one writer, or all readers before the next
        /// writer.
        mutating func takeTurn() -> [Waiter] {
            guard isFree, let first = line.first else { return [] }
            if case .writer = first {
                hasWriter = true
                return [line.removeFirst()]
            }
            let count = line.firstIndex { if case .writer = $0 { true } else { false } }
            let turn = Array(line.prefix(count ?? line.count))
            line.removeFirst(turn.count)
            readers = turn.count
            return turn
        }
    }

    private struct State {
        var leases: [Target: Lease] = [:]
        var readers = 0

        /// Ends a use of a file; returns the waiters that may begin now.
        mutating func end(_ target: Target, _ change: (inout Lease) -> Void) -> [Waiter] {
            // Nearly always the line is empty, and the lease is not put back.
            guard var lease = leases.removeValue(forKey: target) else { return [] }
            change(&lease)
            let turn = lease.takeTurn()
            if !lease.isFree { leases[target] = lease }
            return turn
        }
    }

    private let state = Mutex(State())

    private func begin(_ turn: [Waiter]) {
        for waiter in turn {
            switch waiter {
            case .reader(_, let continuation): continuation.resume(returning: true)
            case .writer(let begin): begin()
            }
        }
    }
}

// MARK: The folders of the process

extension FileLeases {
    private struct Folder: Hashable {
        let device: UInt64
        let inode: UInt64
    }

    private struct Entry {
        weak var leases: FileLeases?
    }

    private static let folders = Mutex<[Folder: Entry]>([:])

    /// The leases of a root's folder, which all sessions of the process in that folder share.
    static func of(_ root: RootDirectory) -> FileLeases {
        // fstat(2) of an open descriptor succeeds. If it fails, the session gets leases of its own.
        guard let (device, inode) = root.folder else { return FileLeases() }
        let folder = Folder(device: device, inode: inode)
        return folders.withLock { folders in
            if let leases = folders[folder]?.leases { return leases }
            folders = folders.filter { $0.value.leases != nil }
            let leases = FileLeases()
            folders[folder] = Entry(leases: leases)
            return leases
        }
    }
}

// MARK: Readers

extension FileLeases {
    /// Takes a file for reading. Suspends while a writer has the file or waits ahead.
    ///
    /// Throws `MirrorError` with `cancelled` if the task is cancelled during the wait.
    func take(
        _ target: Target, isolation: isolated (any Actor)? = #isolation
    ) async throws(MirrorError) -> FileLease {
        let hasFiles = FileLease.held.contains { $0.leases === self && $0.isHeld }
        let number = state.withLock { state in
            state.readers += 1
            return state.readers
        }
        let hasBegun = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mayBegin = state.withLock { state -> Bool? in
                    var lease = state.leases[target] ?? Lease()
                    if lease.admits(readerWithFiles: hasFiles) {
                        lease.readers += 1
                    } else if Task.isCancelled {
                        return false
                    } else {
                        let waiter = Waiter.reader(number: number, continuation)
                        lease.line.insert(waiter, at: hasFiles ? 0 : lease.line.count)
                        state.leases[target] = lease
                        return nil
                    }
                    state.leases[target] = lease
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
            let line = state.leases[target]?.line ?? []
            for (position, waiter) in line.enumerated() {
                guard case .reader(number, let continuation) = waiter else { continue }
                state.leases[target]?.line.remove(at: position)
                return continuation
            }
            return nil
        }
        reader?.resume(returning: false)
    }

    /// Ends a reader's hold on a file.
    fileprivate func give(_ target: Target) {
        begin(state.withLock { $0.end(target) { $0.readers -= 1 } })
    }
}

// MARK: Writers

extension FileLeases {
    /// Takes all files of a writer exclusively, if all are free. Otherwise takes none and returns
    /// false.
    ///
    /// A file is free if no reader and no other writer has it. If a file is not free, `retry` is
    /// called once this writer has that file. The receiver of `retry` then calls this method again,
    /// `holding` the file, and releases the file if that fails. So no file is held during a wait
    /// for another file. Otherwise a program that reads one of them and waits for another would
    /// deadlock.
    func acquireExclusive(
        _ targets: [Target], holding held: Target? = nil,
        orLater retry: @escaping @Sendable (Target) -> Void
    ) -> Bool {
        state.withLock { state in
            for target in targets where target != held {
                if state.leases[target] == nil { continue }
                state.leases[target]?.line.append(.writer { retry(target) })
                return false
            }
            for target in targets {
                state.leases[target, default: Lease()].hasWriter = true
            }
            return true
        }
    }

    /// Whether a file has a reader or a writer.
    func isHeld(_ target: Target) -> Bool {
        state.withLock { $0.leases[target] != nil }
    }

    /// The first of these files that is read under one of the leases. Returns nil if there is none.
    func first(of targets: [Target], under held: [FileLease]) -> Target? {
        if held.isEmpty { return nil }
        let read = Set(held.lazy.filter { $0.leases === self && $0.isHeld }.map(\.target))
        return targets.first(where: read.contains)
    }

    /// Takes a file for a writer if it is free. Otherwise returns false.
    func acquireExclusiveIfFree(_ target: Target) -> Bool {
        return state.withLock { state in
            guard state.leases[target] == nil else { return false }
            state.leases[target] = Lease(hasWriter: true)
            return true
        }
    }

    /// Ends a writer's hold on a file.
    func releaseExclusive(_ target: Target) {
        begin(state.withLock { $0.end(target) { $0.hasWriter = false } })
    }
}

// MARK: The writers of one run

/// The files and sets of a run that wait for readers of their targets.
///
/// Only the thread of the run uses this type. A promotion begins only when the run has all of its
/// files exclusively. The last reader that releases a file posts a message to the run's mailbox.
struct PromotionQueue {
    /// A file or a set to promote.
    enum Work {
        /// A file, and the position of its step in the plan.
        case file(Promotion, Int)
        case set(SetContents)

        fileprivate var targets: [Target] {
            switch self {
            case .file(let promotion, _):
                [promotion.target, promotion.renamedOrphan].compactMap(\.self)
            case .set(let set): set.targets
            }
        }
    }

    /// Whether a work can be promoted now.
    enum Turn {
        /// The run has all of the work's files exclusively.
        case begins
        /// The work waits until a file has no reader.
        case waits
        /// The work would wait for ever.
        case neverComes(MirrorError)
    }

    private let mailbox: Mailbox<RunMessage>
    private let leases: FileLeases
    private let heldByCaller: [FileLease]
    private var waiting: [Int: (work: Work, attempts: Int)] = [:]
    /// How many works have waited so far; the number of the next one.
    private var count = 0

    init(_ execution: Execution) {
        (mailbox, leases) = (execution.mailbox, execution.leases)
        heldByCaller = execution.heldByCaller
    }

    /// Takes the files of a work for its promotion, or makes the work wait for their readers.
    ///
    /// - Parameters:
    ///   - held: the file that the work waited for, which the run now has exclusively.
    ///   - attempts: how often the work has waited.
    mutating func turn(of work: Work, holding held: Target? = nil, attempts: Int = 0) -> Turn {
        let (mailbox, leases, targets) = (mailbox, leases, work.targets)
        var refusal: MirrorError?
        if let held, attempts >= SetContents.mostAttempts { refusal = .alwaysInUse(held) }
        // The run's caller may read one of the files, and does not release it while it waits for
        // the run.
        if let read = leases.first(of: targets, under: heldByCaller) {
            refusal = .heldByCaller(read)
        }
        let number = count
        let areFree =
            refusal == nil
            && leases.acquireExclusive(targets, holding: held) { target in
                let isHeard = mailbox.post(.isFree(number, target))
                if !isHeard { leases.releaseExclusive(target) }
            }
        if areFree { return .begins }
        if let held { leases.releaseExclusive(held) }
        if let refusal { return .neverComes(refusal) }
        waiting[number] = (work, attempts + 1)
        count += 1
        return .waits
    }

    /// Removes and returns the work that waited for a file which this run has now.
    ///
    /// Returns nil, and releases the file, if no work waits for it or the run is over.
    mutating func take(
        _ number: Int, _ target: Target, isOver: Bool
    ) -> (work: Work, attempts: Int)? {
        if let waiting = waiting.removeValue(forKey: number), !isOver { return waiting }
        leases.releaseExclusive(target)
        return nil
    }

    /// Releases a file that the run gets in a message after its end.
    func giveBack(_ target: Target) { leases.releaseExclusive(target) }
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
