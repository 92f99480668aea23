internal import MirrorModel
internal import Synchronization

/// Files that are being read, and so are not replaced for now; and the other way round.
///
/// A landing waits until the last reader of its target has gone, a reader until a landing that has
/// begun is over. Nobody waits while a mutex is held, and what waited is run in the order in which it came.
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

    /// Gives a file back; the first landing that waits for it begins.
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

    /// Begins a landing when nobody reads the file; else it begins, and `begin` is run, when the last
    /// reader has gone.
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

    /// Whether somebody reads a file, or a landing on it is under way.
    func isHeld(_ target: Target) -> Bool { leases.withLock { $0[target] != nil } }

    /// Begins a landing when nobody reads the file; false, and no landing, when somebody does.
    func landIfFree(_ target: Target) -> Bool {
        leases.withLock { leases in
            guard leases[target] == nil else { return false }
            leases[target] = Lease(isLanding: true)
            return true
        }
    }

    /// Ends a landing; those that wait to read go on, else the next landing begins.
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
