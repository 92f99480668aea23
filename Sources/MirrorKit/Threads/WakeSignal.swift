internal import CLinux
internal import Glibc

/// Wakes a thread that waits in poll(2), from any other thread (eventfd(2)).
///
/// Signals add up until they are cleared: one that comes before the wait is not lost.
final class WakeSignal: Sendable {
    /// To be polled for reading.
    let descriptor: Int32

    /// Throws where the process has as many descriptors as it may.
    init() throws(Errno) {
        descriptor = try retryingLibc("eventfd", "") {
            eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        }
    }

    deinit { close(descriptor) }

    /// Wakes the waiting thread, or the next wait.
    func raise() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    /// Forgets all signals so far.
    func clear() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
    }

    /// Waits for a signal, at most so many milliseconds, and for nothing else.
    func wait(milliseconds: Int32) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&entry, 1, milliseconds)
    }
}
