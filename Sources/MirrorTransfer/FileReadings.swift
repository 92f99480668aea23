internal import MirrorModel
internal import MirrorSystem

/// The source files that are being read for transfers. Only the transfer thread calls this class.
///
/// A transfer that waits for one is in the state `reading`. What is found out about a reading that has
/// ended, or was given up, is for nobody any more.
final class FileReadings {
    /// One reading, and the clock that tells when too few bytes of it came for too long.
    private struct Entry {
        let reading: FileReading
        var stall: StallClock
    }

    /// The readings under way, by the ids of their jobs.
    private var running: [Int: Entry] = [:]
    private let threads = FileThreads()
    private let inbox: TransferInbox
    /// Seconds.
    let stallTimeout: Int64
    private var asking: AskingTime
    private var made = 0

    init(inbox: TransferInbox, stallTimeout: Int64, now: Int64) {
        asking = AskingTime(now: now)
        self.inbox = inbox
        self.stallTimeout = stallTimeout
    }

    /// Whether no file is being read.
    var isEmpty: Bool { running.isEmpty }

    /// The readings of which too few bytes came for too long; `now` is in milliseconds.
    ///
    /// Files are read whether or not sockets are, so their time is one of their own.
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

    /// Looks at a source file.
    func look(at path: String, for transfer: Transfer) {
        submit(for: transfer) { reading in
            do throws(Refusal) {
                return .found(
                    try reading.asking { () throws(Refusal) in try FileSource(path: path) })
            } catch { return .refused(error) }
        }
    }

    /// Copies a source file into the part of a body, or into memory where there is none.
    func copy(_ source: FileSource, into body: IncomingBody, for transfer: Transfer) {
        guard let file = body.file else {
            return submit(for: transfer) { source.readAll(by: $0) }
        }
        let (target, pipeline) = (transfer.job.target, body.pipeline)
        submit(for: transfer) { reading in
            pipeline.withDigests { source.copy(to: file, of: target, digests: &$0, by: reading) }
        }
    }

    /// Ends the reading of a transfer, which waits for no thread then; false where it waits for another
    /// reading, or for none.
    func ended(_ reading: FileReading, of transfer: Transfer) -> Bool {
        guard case .reading(let current) = transfer.state, current === reading else {
            return false
        }
        running[transfer.job.id] = nil
        transfer.state = .working
        return true
    }

    /// Has a transfer wait no more for its file; false where it does not wait for this reading.
    @discardableResult
    func giveUp(_ reading: FileReading, of transfer: Transfer) -> Bool {
        guard ended(reading, of: transfer) else { return false }
        threads.giveUp(reading)
        return true
    }

    /// Lets the threads end; those that wait for a file are left behind.
    func stop() { threads.stop() }

    private func submit(
        for transfer: Transfer, _ read: @escaping @Sendable (FileReading) -> FileNews
    ) {
        made += 1
        let reading = FileReading(
            number: made, id: transfer.job.id, stallTimeout: stallTimeout)
        running[reading.id] = Entry(
            reading: reading, stall: StallClock(timeout: stallTimeout))
        transfer.state = .reading(reading)
        let inbox = inbox
        threads.submit(
            FileThreads.Piece(reading: reading) {
                inbox.post(.file(reading, read(reading)))
            } refuse: { failure in
                inbox.post(.file(reading, .failed(failure)))
            })
    }
}
