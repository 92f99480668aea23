internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// A file that is being read, until the reader gives it back.
final class FileLease: Sendable {
    /// The leases under which the current task works: its own, and those of the tasks that began it.
    @TaskLocal static var held: [FileLease] = []

    fileprivate let leases: FileLeases
    fileprivate let target: Target
    private let isOver = Atomic(false)

    fileprivate init(_ target: Target, of leases: FileLeases) {
        (self.target, self.leases) = (target, leases)
    }

    /// Gives the file back; the first that waits for it begins.
    func end() {
        if isOver.exchange(true, ordering: .relaxed) { return }
        leases.give(target)
    }

    /// Whether the reader still has the file. A task may outlive the body that began it.
    fileprivate var isHeld: Bool { !isOver.load(ordering: .relaxed) }
}

/// Keeps files from being replaced or removed while they are read.
///
/// The sessions of a process that work in one folder share its leases. Readers share a file. A writer,
/// which is a promotion or a removal, has it exclusively. Readers and writers wait in one line, so
/// readers that overlap for ever keep no promotion out. One kind of reader passes the line: a task that
/// has a file of the folder already. The writers in the line may wait for that very file. No thread
/// waits while it holds the mutex.
final class FileLeases: Sendable {
    private enum Waiter {
        case reader(number: Int, CheckedContinuation<Bool, Never>)
        case writer(@Sendable () -> Void)
    }

    private struct Lease {
        var readers = 0
        var hasWriter = false
        /// Those that wait, in their order; empty while the file is free.
        var line: [Waiter] = []

        var isFree: Bool { readers == 0 && !hasWriter }

        /// Whether a reader may begin.
        func admits(readerWithFiles hasFiles: Bool) -> Bool {
            !hasWriter && (hasFiles || line.isEmpty)
        }

        /// Lets those begin whose turn has come: one writer, or all readers in front of the next one.
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

        /// Ends a use of a file; returns those whose turn has come.
        mutating func end(_ target: Target, _ change: (inout Lease) -> Void) -> [Waiter] {
            // Nearly always the line is empty, and the lease stays removed.
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

    /// The leases of a root's folder, the same for each session of the process that works in it.
    static func of(_ root: RootDirectory) -> FileLeases {
        // fstat(2) of an open descriptor succeeds. Without it the session has leases of its own.
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
    /// Takes a file for reading; suspends while a writer has it or waits ahead.
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

    /// Takes a reader out of the line.
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

    /// Gives a file back.
    fileprivate func give(_ target: Target) {
        begin(state.withLock { $0.end(target) { $0.readers -= 1 } })
    }
}

// MARK: Writers

extension FileLeases {
    /// Takes all files of a writer if they are free; otherwise takes none and returns false.
    ///
    /// A file is free if no reader and no other writer has it.
    ///
    /// `retry` is called once the first file that was not free has been taken. Its receiver tries
    /// again, `holding` it, and gives it back if that fails: a program may read one file of several
    /// and wait for another, so no file is held while another is waited for.
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

    /// The first of these files that is read under one of the leases.
    func first(of targets: [Target], under held: [FileLease]) -> Target? {
        if held.isEmpty { return nil }
        let read = Set(held.lazy.filter { $0.leases === self && $0.isHeld }.map(\.target))
        return targets.first(where: read.contains)
    }

    /// Takes a file for a writer if it is free; otherwise returns false and leaves it.
    func acquireExclusiveIfFree(_ target: Target) -> Bool {
        return state.withLock { state in
            guard state.leases[target] == nil else { return false }
            state.leases[target] = Lease(hasWriter: true)
            return true
        }
    }

    /// Gives a writer's file back.
    func releaseExclusive(_ target: Target) {
        begin(state.withLock { $0.end(target) { $0.hasWriter = false } })
    }
}

// MARK: The writers of one run

/// The files and sets of a run that wait until their targets have no reader.
///
/// One thread has it at a time, that of its run. A promotion begins only when the run has all of its files
/// exclusively. The last reader that releases a file posts to the run's mailbox.
struct PromotionQueue {
    /// What is promoted together.
    enum Work {
        /// A file, and the position of its step.
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

    /// What becomes of a work that is to be promoted.
    enum Turn {
        /// All of its files are this run's.
        case begins
        /// It waits until a file has no reader.
        case waits
        /// It would wait for ever.
        case neverComes(MirrorError)
    }

    private let mailbox: Mailbox<RunMessage>
    private let leases: FileLeases
    private let heldByCaller: [FileLease]
    private var waiting: [Int: (work: Work, attempts: Int)] = [:]
    /// How many works have waited; the number of each.
    private var count = 0

    init(_ execution: Execution) {
        (mailbox, leases) = (execution.mailbox, execution.leases)
        heldByCaller = execution.heldByCaller
    }

    /// Whether a work may be promoted now; otherwise it waits for the readers of its files.
    ///
    /// - Parameters:
    ///   - held: the file that it waited for, which is this run's.
    ///   - attempts: how often it has waited.
    mutating func turn(of work: Work, holding held: Target? = nil, attempts: Int = 0) -> Turn {
        let (mailbox, leases, targets) = (mailbox, leases, work.targets)
        var refusal: MirrorError?
        if let held, attempts >= SetContents.mostAttempts { refusal = .alwaysInUse(held) }
        // The caller may read one of the files while it waits for the run, and never give it back.
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

    /// Takes the work that waited for a file which was given to this run; nil, and the file is given
    /// back, where none waits.
    mutating func take(
        _ number: Int, _ target: Target, isOver: Bool
    ) -> (work: Work, attempts: Int)? {
        if let waiting = waiting.removeValue(forKey: number), !isOver { return waiting }
        leases.releaseExclusive(target)
        return nil
    }

    /// Gives a file back that a message brings which comes after the run's end.
    func giveBack(_ target: Target) { leases.releaseExclusive(target) }
}

extension MirrorError {
    /// The error for a file that the program reads while it asks for the run that would change it.
    static func heldByCaller(_ target: Target) -> MirrorError {
        MirrorError(
            .locked,
            "\(target): it is read where this run was asked for, so it was kept. Run again after the reading.",
            target: target)
    }

    /// The error for a set of which some file was always in use.
    fileprivate static func alwaysInUse(_ target: Target) -> MirrorError {
        MirrorError(
            .locked,
            "\(target): this program reads files of the manifest all the time, so there was no moment to replace or remove it. Run again.",
            target: target)
    }
}
