internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem

/// Compares complete bytes with every declared digest, on a worker if there are many bytes.
///
/// The pipeline made sha256 and one more digest while the bytes came in. The file is read again
/// only for pieces without a digest of the whole, or for a third algorithm.
struct BodyCheck: Sendable {
    let job: TransferJob
    /// Digests that the server sent.
    let sent: [Digest]
    let inbox: TransferInbox

    /// Up to this number of bytes, a check takes less time than waking a worker.
    static let fewBytes = 16 << 10

    /// Whether a complete part with these expectations is read again. `other` is the algorithm
    /// besides sha256 whose digest was made while the bytes came in.
    static func readsAgain(_ expectation: Expectation, other: DigestAlgorithm?) -> Bool {
        !expectation.digests.allSatisfy { $0.algorithm == .sha256 || $0.algorithm == other }
            || PieceCheck(expectation).isNeeded
    }

    /// Returns the digests of bytes in memory; `piecesHold` is nil when no pieces had to be
    /// checked.
    func judge(_ bytes: [UInt8]) -> (digests: [Digest], piecesHold: Bool?) {
        var digests = [ByteHasher.digest(.sha256, of: bytes)]
        func add(_ algorithm: DigestAlgorithm) {
            if digests.contains(where: { $0.algorithm == algorithm }) { return }
            digests.append(ByteHasher.digest(algorithm, of: bytes))
        }
        for declared in job.expectation.digests { add(declared.algorithm) }
        for digest in sent { add(digest.algorithm) }
        var pieces = PieceCheck(job.expectation)
        bytes.withUnsafeBytes { pieces.take($0) }
        return (digests, pieces.end())
    }

    /// Checks bytes in memory.
    func run(_ bytes: [UInt8]) {
        let found = judge(bytes)
        inbox.post(.hashed(job.id, found.digests, piecesHold: found.piecesHold))
    }

    /// Checks bytes in a part, once all of them have passed through its pipeline.
    func run(_ file: PartFile, size: Int64, pipeline: WritePipeline) {
        let (id, target, inbox) = (job.id, job.target, inbox)
        pipeline.submit { digests in
            // The pipeline reported any loss before, with its cause.
            guard !digests.isBroken, digests.length == size else {
                let error = MirrorError(
                    .internalError, "\(target): bytes of the part are not accounted for.")
                return inbox.post(.broken(id, error))
            }
            run(file, digests.snapshots())
        }
    }

    /// Checks bytes in a part whose running digests are known.
    private func run(_ file: PartFile, _ digests: [Digest]) {
        let made = Set(digests.map(\.algorithm))
        let missing = Set(job.expectation.digests.map(\.algorithm)).subtracting(made)
        var pieces = PieceCheck(job.expectation)
        guard !missing.isEmpty || pieces.isNeeded else {
            inbox.post(.hashed(job.id, digests, piecesHold: nil))
            return
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
            inbox.post(.hashed(job.id, all, piecesHold: pieces.end()))
        } catch {
            inbox.post(.broken(job.id, MirrorError(error, target: job.target)))
        }
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

/// Compares bytes with the declared digests of pieces. This is needed only where no digest of the
/// whole proves the bytes.
struct PieceCheck: ~Copyable {
    private let pieces: Pieces?
    /// None before the first byte of a piece.
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

    /// Whether all pieces hold; nil when none had to be checked.
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
