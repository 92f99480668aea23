import Glibc
import Synchronization

// What a sanitizer must report, and what it must not: the controls of the class R18.
//
//     control race | lock | handover | memory

/// A number that threads change, under a lock or without one.
final class Counter: Sendable {
    let guarded = Mutex(0)
    nonisolated(unsafe) var bare = 0
}

/// What a thread does.
final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    /// Starts a thread.
    func start() -> pthread_t {
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
        return thread
    }
}

/// Runs the closure on eight threads at once, many times, until all have ended.
func onThreads(_ body: @escaping @Sendable (Counter) -> Void) {
    let counter = Counter()
    let threads = (0..<8).map { _ in Work { for _ in 0..<500 { body(counter) } }.start() }
    for thread in threads { pthread_join(thread, nil) }
}

/// Gets something from a thread that is through with it before anybody waits for it.
func handedOver() async -> Counter {
    await withCheckedContinuation { continuation in
        let thread = Work {
            let counter = Counter()
            counter.bare = 7
            continuation.resume(returning: counter)
        }.start()
        pthread_detach(thread)
        usleep(200_000)
    }
}

/// Reads what was handed over, where no executor is changed after the handing over.
func read() async -> Int { await handedOver().bare }

switch CommandLine.arguments.last {
case "race": onThreads { $0.bare += 1 }
// Held for so long that the others have to wait.
case "lock":
    onThreads { counter in
        counter.guarded.withLock { number in
            usleep(1)
            number += 1
        }
    }
case "handover": print(await read())
case "memory":
    let pointer = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    pointer.initialize(to: Int(getpid()))
    pointer.deallocate()
    print(pointer.pointee)
default: exit(64)
}
