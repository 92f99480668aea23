internal import CLinux
internal import Glibc

/// A thread of the system, for work that blocks and so has no place on the cooperative pool.
package struct NativeThread: Sendable {
    private let thread: pthread_t

    /// Starts a thread; the kernel cuts `name` to 15 bytes. Throws if the system refuses another
    /// thread (pthread_create(3)).
    package init(_ name: String, _ body: @escaping @Sendable () -> Void) throws(Errno) {
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                linux_name_thread(start.name)
                start.body()
                return nil
            }, start.toOpaque())
        guard result == 0 else {
            start.release()
            throw Errno(number: result, call: "pthread_create", path: "")
        }
        self.thread = thread
    }

    /// Waits until the thread has ended; call it once.
    package func join() { pthread_join(thread, nil) }

    /// Detaches the thread; nobody waits for its end. Call it once, instead of `join`.
    package func detach() { pthread_detach(thread) }

    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}
