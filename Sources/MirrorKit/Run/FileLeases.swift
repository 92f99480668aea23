internal import MirrorModel
internal import Synchronization

/// Keeps files from being replaced or removed while they are read.
///
/// Readers share a file. A writer, which is a landing or a removal, has it exclusively: it waits
/// until the last reader has gone, and a reader waits until a writer that has begun is done. No
/// thread waits while it holds the mutex. Waiting writers begin in the order in which they came,
/// and so do waiting readers.
final class FileLeases: Sendable {
    private struct Lease {
        var readers = 0
        var hasWriter = false
        var writers: [@Sendable () -> Void] = []
        var waitingReaders: [CheckedContinuation<Void, Never>] = []

        /// Lets a writer have the file if nobody has it or waits for it.
        mutating func admitIfFree() -> Bool {
            if readers > 0 || hasWriter || !writers.isEmpty || !waitingReaders.isEmpty {
                return false
            }
            hasWriter = true
            return true
        }
    }

    private let leases = Mutex<[TargetKey: Lease]>([:])

    /// Takes a file for reading; suspends while a writer has it.
    func take(_ target: Target) async {
        let target = TargetKey(target)
        await withCheckedContinuation { continuation in
            let mayRead = leases.withLock { leases in
                var lease = leases[target] ?? Lease()
                defer { leases[target] = lease }
                if lease.hasWriter {
                    lease.waitingReaders.append(continuation)
                    return false
                }
                lease.readers += 1
                return true
            }
            if mayRead { continuation.resume() }
        }
    }

    /// Gives a file back; after the last reader, the first writer that waits for it begins.
    func give(_ target: Target) {
        let target = TargetKey(target)
        let writer = leases.withLock { leases -> (@Sendable () -> Void)? in
            guard var lease = leases[target] else { return nil }
            lease.readers -= 1
            guard lease.readers == 0 else {
                leases[target] = lease
                return nil
            }
            guard !lease.writers.isEmpty else {
                leases[target] = nil
                return nil
            }
            lease.hasWriter = true
            let writer = lease.writers.removeFirst()
            leases[target] = lease
            return writer
        }
        writer?()
    }

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
        leases.withLock { leases in
            for target in targets where target != held {
                guard let lease = leases[TargetKey(target)], lease.readers > 0 || lease.hasWriter
                else {
                    continue
                }
                leases[TargetKey(target)]?.writers.append { retry(target) }
                return false
            }
            for target in targets { leases[TargetKey(target), default: Lease()].hasWriter = true }
            return true
        }
    }

    /// Whether a file has a reader or a writer.
    func isHeld(_ target: Target) -> Bool { leases.withLock { $0[TargetKey(target)] != nil } }

    /// Takes a file for a writer if it is free; otherwise returns false and leaves it.
    func acquireExclusiveIfFree(_ target: Target) -> Bool {
        let target = TargetKey(target)
        return leases.withLock { leases in
            leases[target, default: Lease()].admitIfFree()
        }
    }

    /// Gives a writer's file back; the readers that wait resume, or else the next writer begins.
    func releaseExclusive(_ target: Target) {
        let target = TargetKey(target)
        let next = leases.withLock {
            leases -> (
                readers: [CheckedContinuation<Void, Never>], writer: (@Sendable () -> Void)?
            ) in
            // Nearly always nobody waits, and the lease stays removed.
            guard var lease = leases.removeValue(forKey: target) else { return ([], nil) }
            lease.hasWriter = false
            if !lease.waitingReaders.isEmpty {
                let readers = lease.waitingReaders
                lease.readers = readers.count
                lease.waitingReaders = []
                leases[target] = lease
                return (readers, nil)
            }
            if lease.writers.isEmpty { return ([], nil) }
            lease.hasWriter = true
            let writer = lease.writers.removeFirst()
            leases[target] = lease
            return ([], writer)
        }
        for reader in next.readers { reader.resume() }
        next.writer?()
    }
}
