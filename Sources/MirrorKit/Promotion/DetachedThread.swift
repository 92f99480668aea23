internal import Glibc

/// A thread of the system's for work that blocks, which the cooperative pool must never do.
enum DetachedThread {
    /// Runs a closure on a new thread that nobody joins (pthread_create(3)).
    static func start(_ body: @escaping @Sendable () -> Void) throws(Errno) {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(ThreadBody(body))
        let number = pthread_create(&thread, nil, runThread, context.toOpaque())
        guard number == 0 else {
            context.release()
            throw Errno(number: number, call: "pthread_create", path: "")
        }
        pthread_detach(thread)
    }
}

/// A closure on its way through a C pointer.
private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

// Not a closure literal: that would inherit the isolation of where it is written.
private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
