internal import CLinux
internal import Glibc
internal import Synchronization

/// A local file that is a source (`file:`), with its status when `init` looked at it.
///
/// `answer` responds as a server would, so that the rules of transfers apply unchanged. The entity
/// tag is made of device, inode, size, mtime and ctime. The bytes are accepted only if these values
/// are the same before and after the bytes were read.
///
/// This type holds no descriptor, because closing a file may wait for a server, as opening and
/// reading do. One piece of work on a thread that reads files does all three.
struct FileSource: Sendable {
    private let path: String
    private let status: FileStatus

    /// Looks at a file, and throws if it is no regular file; blocks.
    init(path: String) throws(ResponseError) {
        self.path = path
        do throws(Errno) {
            status = try FileSource.open(path).status(path: path)
        } catch {
            throw FileSource.refusal(error)
        }
        guard status.isFile else {
            throw ResponseError(.sourceFileUnreadable, "it is not a regular file")
        }
    }

    private static func open(_ path: String) throws(Errno) -> Descriptor {
        let number = try retrying("open", path) {
            // O_NONBLOCK: a named pipe must not hang the open.
            linux_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0)
        }
        return Descriptor(owning: number)
    }

    private static func refusal(_ error: Errno) -> ResponseError {
        ResponseError(.sourceFileUnreadable, "it cannot be read: \(error)")
    }

    /// The file's size in bytes when `init` looked at it.
    var size: Int64 { status.stamp.size }

    /// Returns the response that a server would give to a request.
    func answer(to plan: RequestPlan, at now: Instant) -> ResponseHead {
        let tag = "\"file-\(fingerprint)\""
        let modified = Instant(milliseconds: status.stamp.modified / 1_000_000)
        var fields = [
            ("ETag", tag), ("Last-Modified", HTTPDate(seconds: modified.seconds).description),
            ("Date", HTTPDate(seconds: now.seconds).description),
        ]
        if plan.condition?.validators.entityTag?.text == tag {
            return ResponseHead(status: 304, fields)
        }
        fields.append(("Content-Length", String(size)))
        return ResponseHead(status: 200, fields)
    }

    private var fingerprint: String {
        let stamp = status.stamp
        return [
            String(status.device, radix: 16), String(stamp.inode, radix: 16),
            String(stamp.size, radix: 16), String(stamp.modified, radix: 16),
            String(stamp.changed, radix: 16),
        ].joined(separator: "-")
    }
}

// MARK: Reading

extension FileSource {
    /// Reads a small file into memory; blocks.
    func readAll(by reading: FileReading) -> FileNews {
        do throws(Errno) {
            return try reading.asking { () throws(Errno) in
                let file = try FileSource.open(path)
                // One byte more than expected shows that the file grew.
                let buffer = UnsafeMutableRawBufferPointer.allocate(
                    byteCount: Int(size) + 1, alignment: 16)
                defer { buffer.deallocate() }
                let count = try read(file, into: buffer, at: 0, by: reading)
                return news(Array(buffer[..<count]), length: Int64(count), of: file)
            }
        } catch { return .refused(FileSource.refusal(error)) }
    }

    /// Copies the bytes into an empty part and hashes them; blocks.
    /// The part shares the file's blocks if the file system can do so. The copy ends early if the
    /// transfer gives the reading up.
    func copy(
        to part: PartFile, of target: Target, digests: inout PipelineDigests,
        by reading: FileReading
    ) -> FileNews {
        do throws(Errno) {
            let file = try reading.asking { () throws(Errno) in try FileSource.open(path) }
            let length = try copy(file, to: part, digests: &digests, by: reading)
            return reading.asking { news(nil, length: length, of: file) }
        } catch {
            guard error.path == path else { return .broken(MirrorError(error, target: target)) }
            let refusal = FileSource.refusal(error)
            return .failed(
                TransportFailure(refusal.code, refusal.cause, isPassing: false, wasSent: true))
        }
    }

    private func copy(
        _ file: Descriptor, to part: PartFile, digests: inout PipelineDigests,
        by reading: FileReading
    ) throws(Errno) -> Int64 {
        let isShared = linux_ficlone(part.descriptor, file.number) >= 0
        let buffers = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 << 20, alignment: 4096)
        defer { buffers.deallocate() }
        let buffer = UnsafeMutableRawBufferPointer(rebasing: buffers[..<(1 << 20)])
        let copy = UnsafeMutableRawBufferPointer(rebasing: buffers[(1 << 20)...])
        var offset: Int64 = 0
        while !reading.isGivenUp {
            let count: Int
            if isShared {
                count = try part.read(into: buffer, at: offset)
            } else {
                count = try reading.asking { () throws(Errno) in
                    try read(file, into: buffer, at: offset, by: reading)
                }
                // If the download gave the reading up, it may have dropped the part.
                if reading.isGivenUp { break }
            }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            if !isShared {
                try part.write(bytes, at: offset)
                try part.confirm(bytes, at: offset, with: copy)
            }
            digests.update(bytes)
            offset += Int64(count)
            if count < buffer.count { break }
        }
        return offset
    }

    /// Fills a buffer from the file, or reads up to the file's end. Returns the number of bytes.
    /// `reading` counts each piece as soon as it was read.
    private func read(
        _ file: Descriptor, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64,
        by reading: FileReading
    ) throws(Errno) -> Int {
        var done = 0
        while done < buffer.count, !reading.isGivenUp {
            let end = min(done + reading.piece, buffer.count)
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<end])
            let count = try file.read(into: piece, at: offset + Int64(done), path: path)
            reading.received(count)
            done += count
            if count < piece.count { break }
        }
        return done
    }

    /// Returns the bytes that were read, or a failure if the file has changed since `init`; blocks.
    /// After a failure the bytes must not be used.
    private func news(_ memory: [UInt8]?, length: Int64, of file: Descriptor) -> FileNews {
        if let now = try? file.status(path: path), now.device == status.device,
            now.stamp == status.stamp
        {
            return .copied(memory, length: length)
        }
        return .failed(
            TransportFailure(
                .sourceChanged, "the file changed while it was read", isPassing: true,
                wasSent: true))
    }
}

/// One reading of a source file. Its own thread and the transfer thread share this object.
final class FileReading: Sendable {
    /// Unique among the readings of a loop. A download may have several, one after another.
    let number: Int
    /// The download that reads the file.
    let download: Download
    /// Bytes of one read. A file that is just fast enough brings one piece before it counts as
    /// stalled.
    let piece: Int
    private let asks = Atomic(false)
    private let arrived = Atomic(0)
    private let givenUp = Atomic(false)

    /// - Parameter stallTimeout: seconds.
    init(number: Int, of download: Download, stallTimeout: Int64) {
        self.number = number
        self.download = download
        piece = Int(min(64, max(4, stallTimeout))) << 10
    }

    /// Whether the download no longer waits for this reading.
    /// The reading then ends soon, if the system lets its current call return.
    var isGivenUp: Bool { givenUp.load(ordering: .relaxed) }

    func giveUp() { givenUp.store(true, ordering: .relaxed) }

    /// Whether the thread waits for the source file now, and not for a disk that mirror writes to.
    var isAsking: Bool { asks.load(ordering: .relaxed) }

    /// Runs a call that may wait for the source file.
    func asking<Value, Failure>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        asks.store(true, ordering: .relaxed)
        defer { asks.store(false, ordering: .relaxed) }
        return try body()
    }

    /// Counts bytes that were read from the file.
    func received(_ bytes: Int) { arrived.add(bytes, ordering: .relaxed) }

    /// Returns the number of bytes since the last call.
    func takeReceived() -> Int { arrived.exchange(0, ordering: .relaxed) }
}

/// The result of a thread's work on a source file.
enum FileNews: Sendable {
    /// The file was looked at.
    case found(FileSource)
    /// The bytes of the file were copied into memory. `nil` means that they are in the part.
    case copied([UInt8]?, length: Int64)
    /// The file cannot be used.
    case refused(ResponseError)
    /// The file changed during the read, could not be read to its end, or no thread can read it.
    case failed(TransportFailure)
    /// The bytes could not be written to the part.
    case broken(MirrorError)
}

/// The readings of source files for transfers. Only the transfer thread calls this class.
///
/// A download that waits for a reading is in the state `reading`. The result of a reading that has
/// ended, or was given up, is ignored.
final class FileReadings {
    /// The readings under way, by the ids of their downloads.
    /// A reading has stalled when it brought too few bytes for too long, which `stall` measures.
    private var running: [Int: (reading: FileReading, stall: StallClock)] = [:]
    private let threads: FileThreads
    /// After so many seconds with too few bytes, a reading has stalled.
    let stallTimeout: Int64
    private var asking: AskingTime
    private var made = 0

    init(inbox: TransferInbox, stallTimeout: Int64, now: Int64) {
        asking = AskingTime(now: now)
        threads = FileThreads(inbox: inbox)
        self.stallTimeout = stallTimeout
    }

    /// Whether no file is being read.
    var isEmpty: Bool { running.isEmpty }

    /// Returns the readings that brought too few bytes for too long. `now` is in milliseconds.
    ///
    /// Files are read even while no socket is, so the readings have an `AskingTime` of their own.
    func stalled(now: Int64) -> [FileReading] {
        asking.look(now: now)
        if running.isEmpty { return [] }
        let time = asking.elapsed
        var stalled: [FileReading] = []
        for id in Array(running.keys) {
            guard let reading = running[id]?.reading else { continue }
            running[id]?.stall.receive(reading.takeReceived())
            if reading.isAsking {
                running[id]?.stall.begin(at: time)
            } else {
                running[id]?.stall.end(at: time)
            }
            if running[id]?.stall.hasStalled(at: time) == true { stalled.append(reading) }
        }
        return stalled
    }

    /// Makes a thread look at a source file.
    func look(at path: String, for download: Download) {
        submit(for: download) { reading in
            do throws(ResponseError) {
                return .found(
                    try reading.asking { () throws(ResponseError) in try FileSource(path: path) })
            } catch { return .refused(error) }
        }
    }

    /// Makes a thread copy a source file into a body's part, or into memory if there is no part.
    func copy(_ source: FileSource, into body: IncomingBody, for download: Download) {
        guard let file = body.file else {
            return submit(for: download) { source.readAll(by: $0) }
        }
        let (target, pipeline) = (download.target, body.pipeline)
        submit(for: download) { reading in
            pipeline.withDigests { source.copy(to: file, of: target, digests: &$0, by: reading) }
        }
    }

    /// Ends the reading of a download. The download then waits for no thread.
    /// Returns false if the download waits for another reading, or for no reading.
    func ended(_ reading: FileReading, of download: Download) -> Bool {
        guard case .reading(let current) = download.state, current === reading else {
            return false
        }
        running[download.id] = nil
        download.state = .working
        return true
    }

    /// Gives a reading up, so that its download no longer waits for the file.
    /// Returns false if the download does not wait for this reading.
    @discardableResult
    func giveUp(_ reading: FileReading, of download: Download) -> Bool {
        guard ended(reading, of: download) else { return false }
        threads.giveUp(reading)
        return true
    }

    /// Ends the threads without waiting for them. Threads that wait for a file are left behind.
    func stop() { threads.stop() }

    private func submit(
        for download: Download, _ read: @escaping @Sendable (FileReading) -> FileNews
    ) {
        made += 1
        let reading = FileReading(
            number: made, of: download, stallTimeout: stallTimeout)
        running[download.id] = (reading, StallClock(timeout: stallTimeout))
        download.state = .reading(reading)
        threads.submit(reading, read)
    }
}

/// Threads that read source files, up to two at once.
///
/// A file may be on a server or a disk that does not answer. A call that waits for such a file
/// cannot be ended. So no call of this class waits for a thread. A reading that is given up keeps
/// its thread, and another thread takes its place. While eight given-up readings have not returned,
/// no further file is read.
final class FileThreads: Sendable {
    /// A reading, and the function with which a thread does the reading.
    typealias Work = (reading: FileReading, read: @Sendable (FileReading) -> FileNews)

    static let most = 2
    static let mostGivenUp = 8

    fileprivate struct State {
        var queue: [Work] = []
        /// The numbers of the readings that have a thread and were not given up.
        var running: Set<Int> = []
        /// The numbers of given-up readings whose threads have not returned.
        var givenUp: Set<Int> = []
        /// How many threads serve the queue, busy or idle. Threads of given-up readings do not
        /// count.
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
    /// The inbox that gets the results.
    private let inbox: TransferInbox

    init(inbox: TransferInbox) { self.inbox = inbox }

    /// Adds a reading to the queue. The reading fails at once if no thread can do it.
    func submit(
        _ reading: FileReading, _ read: @escaping @Sendable (FileReading) -> FileNews
    ) {
        let isTaken = state.withLock { state in
            if !state.isStopping { state.queue.append((reading, read)) }
            return !state.isStopping
        }
        guard isTaken else { return }
        available.post()
        provide()
    }

    /// Gives a reading up. If the reading has a thread, that thread no longer counts.
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

    /// Empties the queue, and makes each thread end after its current reading. Does not wait.
    func stop() {
        let waiting = state.withLock { state in
            state.isStopping = true
            state.queue = []
            return state.threads
        }
        for _ in 0..<waiting { available.post() }
    }

    /// Starts the threads that are needed. If there is no thread at all, the queued readings fail.
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
        let refused = state.withLock { state -> [Work] in
            guard state.threads == 0 else { return [] }
            defer { state.queue = [] }
            return state.queue
        }
        for (reading, _) in refused {
            inbox.post { [failure] in $0.file(reading, .failed(failure)) }
        }
    }

    private func run() {
        while true {
            available.wait()
            let (work, isStopping) = state.withLock { $0.takeWork() }
            if isStopping { return }
            guard let (reading, read) = work else { continue }
            let news = read(reading)
            inbox.post { $0.file(reading, news) }
            let goesOn = state.withLock { state in
                state.running.remove(reading.number)
                return state.givenUp.remove(reading.number) == nil
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

    fileprivate mutating func takeWork() -> (work: FileThreads.Work?, isStopping: Bool) {
        if isStopping || queue.isEmpty { return (nil, isStopping) }
        let work = queue.removeFirst()
        running.insert(work.reading.number)
        return (work, false)
    }
}
