internal import MirrorModel
internal import Synchronization

/// Keeps files from being replaced while they are read, and from being read during a landing.
///
/// A landing waits until the last reader of its target has gone. A reader waits until a landing
/// that has begun is over. No thread waits while it holds the mutex. Waiting landings begin in the
/// order in which they came, and so do waiting readers.
final class FileLeases: Sendable {
    private struct Lease {
        var readers = 0
        var isLanding = false
        var landings: [@Sendable () -> Void] = []
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let leases = Mutex<[Target: Lease]>([:])

    /// Takes a file for reading; suspends while a landing on it is under way.
    func take(_ target: Target) async {
        await withCheckedContinuation { continuation in
            let mayRead = leases.withLock { leases in
                var lease = leases[target] ?? Lease()
                defer { leases[target] = lease }
                if lease.isLanding {
                    lease.waiting.append(continuation)
                    return false
                }
                lease.readers += 1
                return true
            }
            if mayRead { continuation.resume() }
        }
    }

    /// Gives a file back; after the last reader, the first landing that waits for it begins.
    func give(_ target: Target) {
        let landing = leases.withLock { leases -> (@Sendable () -> Void)? in
            guard var lease = leases[target] else { return nil }
            lease.readers -= 1
            guard lease.readers == 0 else {
                leases[target] = lease
                return nil
            }
            guard !lease.landings.isEmpty else {
                leases[target] = nil
                return nil
            }
            lease.isLanding = true
            let landing = lease.landings.removeFirst()
            leases[target] = lease
            return landing
        }
        landing?()
    }

    /// Begins a landing if the file is free; otherwise returns false and puts it off.
    ///
    /// A file is free if no reader and no other landing has it. A landing that was put off begins,
    /// and `begin` is called, when the file becomes free.
    func land(_ target: Target, orLater begin: @escaping @Sendable () -> Void) -> Bool {
        leases.withLock { leases in
            var lease = leases[target] ?? Lease()
            defer { leases[target] = lease }
            if lease.readers > 0 || lease.isLanding {
                lease.landings.append(begin)
                return false
            }
            lease.isLanding = true
            return true
        }
    }

    /// Whether a file has a reader, or a landing on it is under way.
    func isHeld(_ target: Target) -> Bool { leases.withLock { $0[target] != nil } }

    /// Begins a landing if the file is free; otherwise returns false, and there is no landing.
    func landIfFree(_ target: Target) -> Bool {
        leases.withLock { leases in
            guard leases[target] == nil else { return false }
            leases[target] = Lease(isLanding: true)
            return true
        }
    }

    /// Ends a landing; the readers that wait resume, or else the next landing begins.
    func landed(_ target: Target) {
        let next = leases.withLock {
            leases -> (
                readers: [CheckedContinuation<Void, Never>], landing: (@Sendable () -> Void)?
            ) in
            guard var lease = leases[target] else { return ([], nil) }
            lease.isLanding = false
            if !lease.waiting.isEmpty {
                let readers = lease.waiting
                lease.readers = readers.count
                lease.waiting = []
                leases[target] = lease
                return (readers, nil)
            }
            if lease.landings.isEmpty {
                leases[target] = nil
                return ([], nil)
            }
            lease.isLanding = true
            let landing = lease.landings.removeFirst()
            leases[target] = lease
            return ([], landing)
        }
        for reader in next.readers { reader.resume() }
        next.landing?()
    }
}
