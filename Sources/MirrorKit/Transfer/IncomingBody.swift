/// The bytes in hand of one download: in memory while they are few and young, otherwise in a part.
/// Only the transfer thread calls this class.
final class IncomingBody {
    /// Maximum size of a body that stays in memory, in bytes.
    static let memoryLimit = 64 << 10
    /// Maximum time that a body may stay in memory, in milliseconds.
    static let memoryAge: Int64 = 1000

    /// The bytes, until they move into a part.
    private(set) var memory: [UInt8] = []
    /// The part's row, which may not be stored yet.
    private(set) lazy var record = makeRecord()
    /// The digests of the bytes, once they are complete.
    var digests: [Digest] = []
    private var startedPipeline: WritePipeline?
    private let identity: PartIdentity
    /// The response that brings the bytes. `nil` means that the bytes are those of a part.
    private let reception: Reception?
    /// The owner of this body, which outlives it.
    private unowned let download: Download
    private let work: TransferWork
    private var writer: PartWriter?
    private let began: Int64

    private init(
        _ reception: Reception?, identity: PartIdentity, of download: Download,
        by work: TransferWork
    ) {
        self.reception = reception
        self.identity = identity
        self.download = download
        self.work = work
        began = work.clock.monotonic()
    }

    /// Makes a body that begins now. The part's row, with its name, and the pipeline are made on
    /// first use. A small body that comes at once never needs them.
    convenience init(
        _ reception: Reception, identity: PartIdentity, of download: Download,
        by work: TransferWork
    ) {
        self.init(Optional(reception), identity: identity, of: download, by: work)
    }

    /// Makes a body for a part that is being read.
    convenience init(
        _ record: PartRecord, pipeline: WritePipeline, of download: Download,
        by work: TransferWork
    ) {
        self.init(nil, identity: record.identity, of: download, by: work)
        self.record = record
        startedPipeline = pipeline
    }

    /// Makes a body that resumes a part, which was verified up to a length.
    convenience init(
        resuming record: PartRecord, file: PartFile, length: Int64, pipeline: WritePipeline,
        of download: Download, by work: TransferWork
    ) {
        self.init(record, pipeline: pipeline, of: download, by: work)
        writer = makeWriter(file, start: length)
        self.record.runs += 1
    }

    private func makeRecord() -> PartRecord {
        // A body without a reception is made from the row of a part, so it never needs another.
        guard let reception else { preconditionFailure("a part has its row") }
        let (target, answer) = (download.target, reception.answer)
        var record = PartRecord(
            name: PartRecord.freshName(for: target, identity: identity, tag: work.parts.tag),
            target: target, identity: identity, total: reception.total,
            provenance: answer.provenance,
            validators: answer.validators)
        record.mediaType = answer.mediaType
        record.suggestedName = answer.suggestedName
        return record
    }

    private func makePipeline() -> WritePipeline {
        var other = download.expectation.otherAlgorithm
        if let reception {
            other = other ?? reception.digests.first { $0.algorithm != .sha256 }?.algorithm
        }
        return work.makePipeline(
            for: record, of: download, other: other, workers: work.workers)
    }

    private func makeWriter(_ file: PartFile, start: Int64) -> PartWriter {
        PartWriter(
            file: file, start: start, total: record.total, pipeline: pipeline,
            chunks: work.chunks)
    }

    /// The part's file. `nil` means that the bytes are in memory.
    var file: PartFile? { writer?.file }

    /// Number of bytes from the file's start, written or not.
    var length: Int64 { writer?.position ?? Int64(memory.count) }

    /// The pipeline that writes the bytes into the part. The first use makes it.
    var pipeline: WritePipeline {
        if let startedPipeline { return startedPipeline }
        let pipeline = makePipeline()
        startedPipeline = pipeline
        return pipeline
    }

    /// Number of bytes that wait to be written or hashed.
    var backlog: Int { startedPipeline?.backlog ?? 0 }

    /// Whether another run, or a request to another source, may resume these bytes.
    var isResumable: Bool { identity != .anonymous && length > 0 }

    /// Adds the next bytes. If they are too many for memory, all bytes move into a part.
    func append(_ bytes: UnsafeRawBufferPointer, now: Int64) throws(MirrorError) {
        if writer == nil {
            if memory.count + bytes.count <= IncomingBody.memoryLimit {
                memory.append(contentsOf: bytes)
                return
            }
            try spill(now: now)
        }
        writer?.append(bytes, now: now)
    }

    /// Moves bytes that were in memory too long into the part or its pipeline.
    func tick(now: Int64) throws(MirrorError) {
        if writer == nil, length > 0, now - began >= IncomingBody.memoryAge { try spill(now: now) }
        writer?.tick(now: now)
    }

    /// Creates the part, and moves the bytes from memory into it.
    func spill(now: Int64) throws(MirrorError) {
        guard self.writer == nil else { return }
        let writer = makeWriter(try work.parts.create(record), start: 0)
        self.writer = writer
        let bytes = memory
        memory = []
        bytes.withUnsafeBytes { writer.append($0, now: now) }
    }

    /// Passes the buffered bytes to the pipeline, which writes and hashes them.
    func flush() { writer?.flush() }

    /// Counts bytes that a worker wrote into the part and added to the digests.
    func adopt(copied length: Int64) { writer?.skip(to: length) }

    /// Counts bytes up to an offset that further connections have written into the part.
    func adopt(upTo end: Int64) { writer?.adopt(upTo: end) }

    /// Adds the total and the provenance of a further response to the row.
    func `continue`(total: Int64?, provenance: Provenance) throws(MirrorError) {
        record.total = total ?? record.total
        if !record.provenances.contains(provenance) { record.provenances.append(provenance) }
        if writer != nil { try work.parts.update(record) }
    }

    /// Stops the digests where they are, because the rest of the bytes is no longer needed.
    func stop() { startedPipeline?.stop() }

    /// Discards the bytes, and the part with them.
    func discard() throws(MirrorError) {
        startedPipeline?.abandon()
        memory = []
        guard writer != nil else { return }
        writer = nil
        try work.parts.discard(part: record.name)
    }
}

/// Compares complete bytes with every declared digest, on a worker if there are many bytes.
///
/// The pipeline made sha256 and one more digest while the bytes came in. The file is read again
/// only for pieces without a digest of the whole, or for a third algorithm.
struct BodyCheck: Sendable {
    let download: Download
    /// Digests that the server sent.
    let sent: [Digest]
    let inbox: TransferInbox

    /// Up to this number of bytes, a check takes less time than waking a worker.
    static let fewBytes = 16 << 10

    /// Whether a complete part with these expectations is read again.
    /// `other` is the algorithm besides sha256 whose digest was made while the bytes came in.
    static func readsAgain(_ expectation: Expectation, other: DigestAlgorithm?) -> Bool {
        !expectation.digests.allSatisfy { $0.algorithm == .sha256 || $0.algorithm == other }
            || PieceCheck(expectation).isNeeded
    }

    /// Returns the digests of bytes in memory, and whether all pieces hold.
    /// `piecesHold` is nil if no pieces had to be checked.
    func judge(_ bytes: [UInt8]) -> (digests: [Digest], piecesHold: Bool?) {
        var digests = [ByteHasher.digest(.sha256, of: bytes)]
        func add(_ algorithm: DigestAlgorithm) {
            if digests.contains(where: { $0.algorithm == algorithm }) { return }
            digests.append(ByteHasher.digest(algorithm, of: bytes))
        }
        for declared in download.expectation.digests { add(declared.algorithm) }
        for digest in sent { add(digest.algorithm) }
        var pieces = PieceCheck(download.expectation)
        bytes.withUnsafeBytes { pieces.take($0) }
        return (digests, pieces.end())
    }

    /// Checks bytes in memory, and posts the result to the inbox.
    func run(_ bytes: [UInt8]) {
        let found = judge(bytes)
        post(found.digests, piecesHold: found.piecesHold)
    }

    /// Checks bytes in a part after all of them have passed through its pipeline.
    /// Posts the result to the inbox.
    func run(_ file: PartFile, size: Int64, pipeline: WritePipeline) {
        pipeline.submit { digests in
            // If bytes were lost, the pipeline has already reported the loss with its cause.
            guard !digests.isBroken, digests.length == size else {
                let error = MirrorError(
                    .internalError,
                    "\(download.target): bytes of the part are not accounted for.")
                return fail(error)
            }
            run(file, digests.snapshots())
        }
    }

    /// Checks bytes in a part whose running digests are known.
    private func run(_ file: PartFile, _ digests: [Digest]) {
        let made = Set(digests.map(\.algorithm))
        let missing = Set(download.expectation.digests.map(\.algorithm)).subtracting(made)
        var pieces = PieceCheck(download.expectation)
        guard !missing.isEmpty || pieces.isNeeded else {
            return post(digests, piecesHold: nil)
        }
        do throws(Errno) {
            var all = digests
            // Each algorithm takes one pass: more than one missing algorithm is rare and pointless.
            for algorithm in missing {
                var hasher = ByteHasher(algorithm)
                try read(file) { hasher.update($0) }
                all.append(hasher.snapshot())
            }
            if pieces.isNeeded { try read(file) { pieces.take($0) } }
            post(all, piecesHold: pieces.end())
        } catch {
            fail(MirrorError(error, target: download.target))
        }
    }

    private func post(_ digests: [Digest], piecesHold: Bool?) {
        inbox.post { [download] engine in
            engine.goOn(download) { engine.hashed(download, digests, piecesHold: piecesHold) }
        }
    }

    private func fail(_ error: MirrorError) {
        inbox.post { [download] engine in engine.broken(download, error) }
    }

    private func read(
        _ file: PartFile, _ take: (UnsafeRawBufferPointer) -> Void
    ) throws(Errno) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while true {
            let count = try file.read(into: buffer, at: offset)
            take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
            if count < buffer.count { return }
        }
    }
}

/// Compares bytes with the declared digests of pieces.
/// Only a body without a digest of the whole that proves its bytes needs this check.
struct PieceCheck: ~Copyable {
    private let pieces: Pieces?
    /// The digest of the current piece. `nil` means that the piece has no byte yet.
    private var hasher: ByteHasher?
    private var filled: Int64 = 0
    private var index = 0
    private var holds = true

    init(_ expectation: Expectation) {
        pieces = expectation.pin == nil ? expectation.pieces : nil
    }

    var isNeeded: Bool { pieces != nil }

    mutating func take(_ bytes: UnsafeRawBufferPointer) {
        guard let pieces else { return }
        var rest = bytes
        while !rest.isEmpty {
            let count = Int(min(Int64(rest.count), pieces.length - filled))
            if hasher == nil { hasher = ByteHasher(.sha256) }
            hasher?.update(UnsafeRawBufferPointer(rebasing: rest.prefix(count)))
            filled += Int64(count)
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            if filled == pieces.length { close(pieces) }
        }
    }

    /// Returns whether all pieces hold. Returns nil if no pieces had to be checked.
    mutating func end() -> Bool? {
        guard let pieces else { return nil }
        if filled > 0 { close(pieces) }
        return holds && index == pieces.digests.count
    }

    private mutating func close(_ pieces: Pieces) {
        let digest = hasher?.snapshot()
        holds = holds && index < pieces.digests.count && pieces.digests[index] == digest
        hasher = nil
        filled = 0
        index += 1
    }
}
