/// The received bytes of a transfer: their length, their version, and what proves them.
///
/// The bytes themselves are in memory or in a part on disk; this struct does not hold them.
struct BytesInHand: ~Copyable, Sendable {
    /// How many bytes of new progress make the machine count retries from 0 again.
    ///
    /// Progress is measured from the part's greatest length. A connection that brings this much
    /// before each break is slow, not broken.
    static let progressThatResetsRetries: Int64 = 16 << 10

    /// The unfinished download that requests continue; nil without one.
    private(set) var part: PartState?
    /// The body that is being received; nil between bodies.
    private(set) var reception: Reception?
    /// What the response that began the bytes in hand said about them.
    private(set) var answer: Answer?
    /// Digests that servers sent for the bytes in hand.
    private(set) var sentDigests: [Digest] = []
    /// Whether a declared length or a final chunk showed where the body ended.
    private(set) var isFramed = false
    /// The end of the gap after the part: the offset of the next bytes in hand, or the file's end.
    ///
    /// Further connections fetch ranges beyond the part. `nil` means that no range is known.
    private var gapEnd: Int64?
    /// The number of received bytes that were dropped because no request could resume them.
    private(set) var wasted: Int64 = 0
    /// The greatest length of any part in this run.
    private(set) var greatestLength: Int64
    /// The part must grow beyond this length, in bytes, before retries count from 0 again.
    private var lengthToExceed: Int64

    /// Begins with the part of an earlier run, whose first `length` bytes are verified.
    init(_ part: (record: PartRecord, length: Int64)?, isPost: Bool) {
        greatestLength = part?.length ?? 0
        lengthToExceed = greatestLength
        if let part, part.length > 0, !isPost {
            self.part = PartState(part.record, length: part.length)
            answer = part.record.provenances.first.map { Answer(part.record, provenance: $0) }
        }
    }

    /// The size of the whole file, as declared or as promised by the part's response.
    func total(of file: borrowing WantedFile) -> Int64? { file.expectation.size ?? part?.total }

    /// Notes where the gap after the part ends: at the next bytes in hand, or at the file's end.
    mutating func know(gapEnd: Int64?) { self.gapEnd = gapEnd }

    /// Returns the offset of the next bytes in hand after the part. Returns nil if there are none.
    func gapEnd(in total: Int64?) -> Int64? {
        guard let part, let total, let gapEnd, part.length < gapEnd, gapEnd < total else {
            return nil
        }
        return gapEnd
    }

    /// The number of bytes received in vain if the part is dropped too.
    var wastedSoFar: Int64 { wasted + (part?.length ?? 0) }

    /// Begins the part with the first body of a file, and drops the part before it.
    mutating func begin(_ reception: Reception, identity: PartIdentity, answer: Answer) {
        wasted += part?.length ?? 0
        part = PartState(beginning: reception, identity: identity)
        self.answer = answer
        sentDigests = []
        gapEnd = nil
        lengthToExceed = greatestLength
        take(reception)
    }

    /// Counts every byte of a restarted part as progress, even if an earlier part was longer.
    mutating func countFromStart() { lengthToExceed = 0 }

    /// Continues the part with a body whose first byte follows the part's last byte.
    ///
    /// - Parameter isGuarded: whether a validator vouches for the version of the new bytes.
    mutating func `continue`(_ reception: Reception, isGuarded: Bool) {
        part?.total = reception.total
        if part?.provenances.last != reception.answer.provenance {
            part?.provenances.append(reception.answer.provenance)
            part?.isOfOneGo = false
        }
        if !isGuarded { part?.isOfOneGo = false }
        answer = answer?.continued(by: reception.answer)
        take(reception)
    }

    private mutating func take(_ reception: Reception) {
        sentDigests += reception.digests.filter { !sentDigests.contains($0) }
        self.reception = reception
    }

    /// Adds the provenance of bytes that a further connection fetches.
    mutating func join(_ provenance: Provenance) {
        part?.isSegmented = true
        if part?.provenances.contains(provenance) == false {
            part?.provenances.append(provenance)
            part?.isOfOneGo = false
        }
    }

    /// Notes the part's length. Returns whether it grew enough to count retries from 0 again.
    @discardableResult
    mutating func progressed(to length: Int64?) -> Bool {
        guard let length, part != nil else { return false }
        part?.length = length
        let hasProgressed = length >= lengthToExceed + BytesInHand.progressThatResetsRetries
        lengthToExceed = max(lengthToExceed, length)
        greatestLength = max(greatestLength, length)
        return hasProgressed
    }

    /// Ends the body being received.
    ///
    /// - Parameter isFramed: whether a length or a final chunk ended the body.
    mutating func endBody(isFramed: Bool) {
        self.isFramed = isFramed
        reception = nil
    }

    /// Ends the body being received before its end.
    mutating func breakOff() { reception = nil }

    /// Notes that all bytes of the file are in hand.
    mutating func complete() { isFramed = true }

    /// Drops the part, because it is longer than the file.
    mutating func dropPart() { part = nil }

    /// Drops the part, the statements of its responses and the body being received.
    mutating func drop() {
        part = nil
        answer = nil
        sentDigests = []
        reception = nil
        gapEnd = nil
    }
}

extension BytesInHand {
    /// Compares complete bytes with what the manifest declares and what the server sent.
    ///
    /// The declared pieces were compared before; `piecesHold` has the result, or nil without
    /// pieces. Returns what proves the bytes. Throws `ResponseError` with `sizeMismatch` or
    /// `digestMismatch`.
    ///
    /// - Parameter digests: the digests of the whole file, one for each declared or sent algorithm
    ///   and sha256.
    func verify(
        size: Int64, digests: [Digest], piecesHold: Bool?, as file: borrowing WantedFile
    ) throws(ResponseError) -> Verification {
        if let expected = file.expectation.size, expected != size {
            throw ResponseError(
                .sizeMismatch,
                "the file has \(Counted(size, "byte")), the manifest says \(expected)",
                expected: String(expected), actual: String(size))
        }
        try BytesInHand.compare(digests, with: file.expectation.digests, of: "the manifest")
        // A pin proves the bytes, so the digests that the server sent matter only without one.
        if file.expectation.pin == nil {
            try BytesInHand.compare(digests, with: sentDigests, of: "the server")
        }
        if piecesHold == false {
            throw ResponseError(.digestMismatch, "a piece does not have the digest in the manifest")
        }
        if file.expectation.pin != nil || piecesHold == true { return .digest }
        let isProven =
            file.expectation.size != nil || !file.expectation.digests.isEmpty
            || !sentDigests.isEmpty || isFramed
        return isProven ? .size : .none
    }

    private static func compare(
        _ digests: [Digest], with expected: [Digest], of sayer: String
    ) throws(ResponseError) {
        for expected in expected {
            guard let actual = digests.first(where: { $0.algorithm == expected.algorithm }),
                actual != expected
            else { continue }
            throw ResponseError(
                .digestMismatch,
                "\(expected.algorithm.rawValue) is \(actual.hex), \(sayer) says \(expected.hex)",
                expected: expected.description, actual: actual.description)
        }
    }
}

/// The length of the part in hand, and the version that its bytes belong to.
struct PartState: Sendable, Hashable {
    /// The number of verified bytes from the start.
    var length: Int64
    /// The size of the whole file; nil if not known.
    var total: Int64?
    /// What new bytes must match to continue the part.
    var identity: PartIdentity
    /// The provenances of the part's bytes, the earliest first.
    var provenances: [Provenance]
    /// The validators of the response that began the part.
    var validators: Validators
    /// Whether one source alone is responsible for all bytes.
    ///
    /// All bytes came in this run, and a validator guarded each continuation.
    var isOfOneGo: Bool
    /// Whether several connections fetched the part's bytes.
    var isSegmented = false

    /// Begins an empty part with the response whose body will fill it.
    init(beginning reception: Reception, identity: PartIdentity) {
        length = 0
        total = reception.total
        self.identity = identity
        provenances = [reception.answer.provenance]
        validators = reception.answer.validators
        isOfOneGo = true
    }

    /// Continues a part of an earlier run, whose first `length` bytes are verified.
    init(_ record: PartRecord, length: Int64) {
        self.length = length
        total = record.total
        identity = record.identity
        provenances = record.provenances
        validators = record.validators
        isOfOneGo = false
    }
}

extension PartState {
    /// Whether the manifest declares the digest that identifies the part's file.
    func isPinned(by file: borrowing WantedFile) -> Bool {
        guard case .digest(let digest) = identity else { return false }
        return file.expectation.digests.contains(digest)
    }

    /// Returns why the server sent the whole file although the request asked only for the rest.
    ///
    /// The error says `sourceChanged` if the responses show another version, else `rangeIgnored`.
    func reasonToBeginAgain(_ reception: Reception) -> ResponseError {
        let sent = reception.answer.validators
        let hasChanged =
            total != nil && reception.total != nil && total != reception.total
            || validators.entityTag != sent.entityTag
                && provenances.first == reception.answer.provenance
        return hasChanged
            ? ResponseError(
                .sourceChanged, "the file changed at its source: the server sent it anew")
            : ResponseError(
                .rangeIgnored, "the server sent the whole file where the rest was asked for")
    }
}

/// A body being received: its offset, its end, and the statements of its response.
///
/// A class, because the receiving code reads it with each chunk, and a struct would be copied.
final class Reception: Sendable {
    /// Whether the body continues the bytes in hand, and is not the whole file.
    let isRange: Bool
    /// The position in the file of the body's first byte.
    let offset: Int64
    /// The position after the body's last byte; nil if the response does not promise it.
    let end: Int64?
    /// The size of the whole file; nil if not known.
    let total: Int64?
    /// The greatest size that the file may have, in bytes. `nil` means no limit.
    let limit: Int64?
    /// How the end of the body is recognized.
    let framing: Framing
    /// Digests that the server sent for the whole file, strongest first.
    let digests: [Digest]
    /// Whether a request for a range of the same bytes may work.
    ///
    /// False if the server says that it sends no ranges, or if the body is encoded or doubtful.
    let allowsRanges: Bool
    /// The other statements of the response.
    let answer: Answer
    /// Whether the body may be the requested range although its response claims the whole file.
    ///
    /// No request continues the bytes of a doubtful body.
    let isDoubtful: Bool

    init(
        isRange: Bool, offset: Int64, end: Int64?, total: Int64?, limit: Int64?,
        framing: Framing, digests: [Digest], allowsRanges: Bool, answer: Answer,
        isDoubtful: Bool = false
    ) {
        self.isRange = isRange
        self.offset = offset
        self.end = end
        self.total = total
        self.limit = limit
        self.framing = framing
        self.digests = digests
        self.allowsRanges = allowsRanges && !isDoubtful
        self.answer = answer
        self.isDoubtful = isDoubtful
    }
}

/// What a response says about the bytes: their version, their type, their name, their source.
///
/// A class, because every step of a transfer passes it along. Each copy of a struct would count a
/// reference for each of its texts.
final class Answer: Sendable {
    /// The source that was asked, and the URL that answered.
    let provenance: Provenance
    /// The validators of the response, with the verdict whether they are strong.
    let validators: Validators
    /// The media type without parameters.
    let mediaType: String?
    /// The time until which HTTP caching calls the response fresh; nil if the response has none.
    let freshUntil: Instant?
    /// The URL that answered, without its query, for display.
    let source: String
    /// The file name that the response suggests, without folders.
    let suggestedName: String?
    /// The reference to the next page, if the response is one page of several (RFC 8288, `next`).
    let nextPage: String?
    /// The version of HTTP of the response; nil for a remembered response and for a local file.
    let version: HTTPVersion?
    /// Whether the server sends ranges, as far as the transfer's responses showed.
    let ranges: RangeSupport

    /// Reads the statements of a response head.
    init(_ head: ResponseHead, provenance: Provenance, url: SourceURL, at now: Instant) {
        self.provenance = provenance
        validators = Validators(of: head)
        mediaType = head.mediaType
        freshUntil = head.freshUntil(received: now)
        source = provenance.answeredBy
        suggestedName = head.suggestedName
        nextPage = head.nextPage
        version = url.scheme == .file ? nil : head.version
        ranges = head.status == 206 ? .honoured : head.announcedRanges
    }

    /// Makes an answer from the few statements that a remembered or scarce response has.
    init(
        provenance: Provenance, validators: Validators, mediaType: String? = nil, source: String,
        suggestedName: String? = nil
    ) {
        self.provenance = provenance
        self.validators = validators
        self.mediaType = mediaType
        freshUntil = nil
        nextPage = nil
        self.source = source
        self.suggestedName = suggestedName
        version = nil
        ranges = .unknown
    }

    /// Restores the remembered statements of the response that began a part.
    convenience init(_ record: PartRecord, provenance: Provenance) {
        self.init(
            provenance: provenance, validators: record.validators, mediaType: record.mediaType,
            source: provenance.source.description, suggestedName: record.suggestedName)
    }

    private init(_ first: Answer, last: Answer, ranges: RangeSupport) {
        provenance = first.provenance
        validators = first.validators
        mediaType = first.mediaType
        freshUntil = last.freshUntil
        source = last.source
        nextPage = first.nextPage
        // A remembered part may have no suggested name, and a later response seldom sends one.
        suggestedName = first.suggestedName ?? last.suggestedName
        version = last.version
        self.ranges = ranges
    }

    /// Returns the same statements with another value of `ranges`.
    func with(ranges: RangeSupport) -> Answer { Answer(self, last: self, ranges: ranges) }

    /// Returns the statements about a file whose rest came with the response `last`.
    func continued(by last: Answer) -> Answer { Answer(self, last: last, ranges: last.ranges) }
}

extension Answer: Hashable {
    static func == (one: Answer, other: Answer) -> Bool {
        one === other
            || (one.provenance == other.provenance && one.validators == other.validators
                && one.mediaType == other.mediaType && one.freshUntil == other.freshUntil
                && one.source == other.source && one.suggestedName == other.suggestedName
                && one.version == other.version && one.ranges == other.ranges)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(provenance)
        hasher.combine(validators)
    }
}
