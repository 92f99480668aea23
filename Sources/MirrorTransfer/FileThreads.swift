internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// Threads that read source files, up to two at once.
///
/// A file may be on a server or a disk that does not answer, and no call that waits for one can be
/// ended. So nobody waits for these threads: a reading that is given up keeps its thread, and another
/// one takes its place. When eight of them have not come back, no further file is read.
final class FileThreads: Sendable {
    /// One piece of a reading, and what happens where no thread can do it.
    struct Piece: Sendable {
        let reading: FileReading
        let work: @Sendable () -> Void
        let refuse: @Sendable (TransportFailure) -> Void
    }

    static let most = 2
    static let mostGivenUp = 8

    fileprivate struct State {
        var queue: [Piece] = []
        /// The readings whose pieces are being done, and have not been given up.
        var running: Set<Int> = []
        /// The readings that were given up, and whose threads have not come back.
        var givenUp: Set<Int> = []
        /// Threads that do what is queued, those that wait for it included.
        var threads = 0
        var isStopping = false

        /// Whether a further thread is needed and allowed.
        var needsThread: Bool {
            threads - running.count < queue.count && threads < FileThreads.most
                && givenUp.count < FileThreads.mostGivenUp && !isStopping
        }
    }

    private let state = Mutex(State())
    private let available = Semaphore()

    /// Adds a piece; it is refused at once, on this thread, where no thread can do it.
    func submit(_ piece: Piece) {
        let isTaken = state.withLock { state in
            if !state.isStopping { state.queue.append(piece) }
            return !state.isStopping
        }
        guard isTaken else { return }
        available.post()
        provide()
    }

    /// Has nobody wait for a reading any more.
    func giveUp(_ reading: FileReading) {
        reading.giveUp()
        state.withLock { state in
            state.queue.removeAll { $0.reading === reading }
            if state.running.remove(reading.number) != nil {
                state.givenUp.insert(reading.number)
                state.threads -= 1
            }
        }
        provide()
    }

    /// Lets the threads end when they come back, and does nothing more.
    func stop() {
        let waiting = state.withLock { state in
            state.isStopping = true
            state.queue = []
            return state.threads
        }
        for _ in 0..<waiting { available.post() }
    }

    /// Starts the threads that are needed, or refuses what waits for one that cannot be had.
    private func provide() {
        var failure = TransportFailure(
            .stalled,
            "\(FileThreads.mostGivenUp) other source files have not come, so no further one is read",
            isPassing: true, wasSent: false)
        while state.withLock({ $0.takeThread() }) {
            do throws(Errno) {
                try NativeThread("files") { self.run() }.detach()
            } catch {
                state.withLock { $0.threads -= 1 }
                failure = TransportFailure(
                    .sourceFileUnreadable, "no thread can be had to read it: \(error)",
                    isPassing: true, wasSent: false)
                break
            }
        }
        let refused = state.withLock { state -> [Piece] in
            guard state.threads == 0 else { return [] }
            defer { state.queue = [] }
            return state.queue
        }
        for piece in refused { piece.refuse(failure) }
    }

    private func run() {
        while true {
            available.wait()
            let (piece, isStopping) = state.withLock { $0.takePiece() }
            if isStopping { return }
            guard let piece else { continue }
            piece.work()
            let number = piece.reading.number
            let goesOn = state.withLock { state in
                state.running.remove(number)
                return state.givenUp.remove(number) == nil
            }
            if !goesOn { return }
        }
    }
}

extension FileThreads.State {
    fileprivate mutating func takeThread() -> Bool {
        guard needsThread else { return false }
        threads += 1
        return true
    }

    fileprivate mutating func takePiece() -> (piece: FileThreads.Piece?, isStopping: Bool) {
        if isStopping || queue.isEmpty { return (nil, isStopping) }
        let piece = queue.removeFirst()
        running.insert(piece.reading.number)
        return (piece, false)
    }
}
