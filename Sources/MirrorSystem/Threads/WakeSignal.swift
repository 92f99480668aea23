internal import CLinux
internal import Glibc
internal import Synchronization

/// Wakes a thread that waits in poll(2), from any other thread (eventfd(2)).
///
/// A signal stays until it is cleared, so one that arrives before the wait is not lost. The sender
/// changes the shared state before it raises the signal; the receiver clears the signal before it
/// reads that state. So a second signal before the first clear costs no system call.
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

    /// Forgets all signals so far. The caller reads the state that they announced after this call.
    package func clear() {
        // Most iterations of a loop find no signal, and need no system call to learn it.
        guard isRaised.load(ordering: .sequentiallyConsistent) else { return }
        var count: UInt64 = 0
        // A sender may have set the flag and not written yet. Then the next wait ends at once, and the
        // flag stays until the written value is read. The flag is not cleared before the read, because
        // the read would then consume a signal that was raised in between.
        if read(descriptor, &count, 8) == 8 {
            isRaised.store(false, ordering: .sequentiallyConsistent)
        }
    }

    /// Waits for a signal for at most this many milliseconds.
    package func wait(milliseconds: Int32) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&entry, 1, milliseconds)
    }
}
