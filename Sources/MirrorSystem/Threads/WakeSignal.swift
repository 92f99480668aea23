internal import CLinux
internal import Glibc
internal import Synchronization

/// Wakes a thread that waits in poll(2), from any other thread (eventfd(2)).
///
/// A signal stays until it is cleared: one that comes before the wait is not lost. Whoever raises it
/// changes first what it is about; whoever clears it looks at that afterwards. So a second signal
/// that comes before the first was cleared costs no system call.
package final class WakeSignal: Sendable {
    /// To be polled for reading.
    package let descriptor: Int32
    private let isRaised = Atomic(false)

    /// Throws where the process has as many descriptors as it may.
    package init() throws(Errno) {
        descriptor = try retryingLibc("eventfd", "") {
            eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        }
    }

    deinit { close(descriptor) }

    /// Wakes the waiting thread, or the next wait.
    package func raise() {
        if isRaised.exchange(true, ordering: .acquiringAndReleasing) { return }
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    /// Forgets all signals so far; what they were about is to be looked at after this.
    package func clear() {
        // Most turns of a loop find none, and need no system call for that.
        guard isRaised.load(ordering: .sequentiallyConsistent) else { return }
        var count: UInt64 = 0
        // Whoever set the flag may not have written yet: then the next wait ends at once, and the flag
        // stays until what was written is read. Nor is it put down before the read, which would
        // take a signal along that was raised in between.
        if read(descriptor, &count, 8) == 8 {
            isRaised.store(false, ordering: .sequentiallyConsistent)
        }
    }

    /// Waits for a signal, at most so many milliseconds, and for nothing else.
    package func wait(milliseconds: Int32) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&entry, 1, milliseconds)
    }
}
