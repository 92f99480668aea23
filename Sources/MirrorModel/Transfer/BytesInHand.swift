/// What a transfer has received so far, and what the responses said of it.
///
/// The bytes themselves are elsewhere. This is their length and version, and what proves them.
struct BytesInHand: ~Copyable, Sendable {
    /// Bytes beyond the part's greatest length after which retries are counted from 0 again.
    ///
    /// A line that breaks all the time is slow, not broken.
    static let progressThatResetsRetries: Int64 = 16 << 10

    /// The part in hand.
    private(set) var part: PartState?
    /// The body being received.
    private(set) var reception: Reception?
    /// The statements of the response that began the bytes in hand.
    private(set) var answer: Answer?
    /// Digests that servers sent for the bytes in hand.
    private(set) var sentDigests: [Digest] = []
    /// Whether a length or a final chunk ended the bytes in hand.
    private(set) var isFramed = false
    /// The offset at which bytes in hand begin again after the part's length, or the file's end.
    private var gapEnd: Int64?
    /// The number of received bytes that were dropped because no request could resume them.
    private(set) var wasted: Int64 = 0
    /// The greatest length of any part in this run.
    private(set) var greatestLength: Int64
    /// The length beyond which the part has to grow for retries to be counted from 0 again.
    private var lengthToExceed: Int64

    /// Takes the part of an earlier run, of which a length is verified.
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

    /// Takes the offset at which bytes in hand begin again after the part's length.
    mutating func know(gapEnd: Int64?) { self.gapEnd = gapEnd }

    /// Where bytes in hand begin again after the part's length; nil if none do.
    func gapEnd(in total: Int64?) -> Int64? {
        guard let part, let total, let gapEnd, part.length < gapEnd, gapEnd < total else {
            return nil
        }
        return gapEnd
    }

    /// How many bytes were received, those that were dropped included, if these are dropped too.
    var wastedSoFar: Int64 { wasted + (part?.length ?? 0) }

    /// Begins the part with the first body of a file.
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

    /// Continues the part with a body that begins at its end.
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

    /// Adds the provenance of bytes that a further connection brings.
    mutating func join(_ provenance: Provenance) {
        part?.isSegmented = true
        if part?.provenances.contains(provenance) == false {
            part?.provenances.append(provenance)
            part?.isOfOneGo = false
        }
    }

    /// Notes the part's length; returns whether it grew enough to count retries from 0 again.
    @discardableResult
    mutating func progressed(to length: Int64?) -> Bool {
        guard let length, part != nil else { return false }
        part?.length = length
        let hasProgressed = length >= lengthToExceed + BytesInHand.progressThatResetsRetries
        lengthToExceed = max(lengthToExceed, length)
        greatestLength = max(greatestLength, length)
        return hasProgressed
    }

    /// Ends the body being received; `isFramed` says whether a length or a final chunk ended it.
    mutating func endBody(isFramed: Bool) {
        self.isFramed = isFramed
        reception = nil
    }

    /// Breaks the body off that is being received.
    mutating func breakOff() { reception = nil }

    /// Notes that all bytes of the file are in hand.
    mutating func complete() { isFramed = true }

    /// Drops the part, because it is longer than the file.
    mutating func dropPart() { part = nil }

    /// Drops everything.
    mutating func drop() {
        part = nil
        answer = nil
        sentDigests = []
        reception = nil
        gapEnd = nil
    }
}

extension BytesInHand {
    /// Compares complete bytes with what was declared and sent; pieces were compared before.
    ///
    /// Throws `ResponseError` with `sizeMismatch` or `digestMismatch`.
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
        // The server's statements about its bytes count only where the manifest does not prove
        // them.
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
package struct PartState: Sendable, Hashable {
    /// The number of verified bytes from the start.
    package var length: Int64
    /// The size of the whole file, where known.
    package var total: Int64?
    /// The identity that bytes must have to continue it.
    package var identity: PartIdentity
    /// The provenances of its bytes, the earliest first.
    package var provenances: [Provenance]
    /// The validators of the response that began it.
    package var validators: Validators
    /// Whether one source alone is responsible for all bytes.
    ///
    /// They came in this run, and were joined, if at all, under a validator.
    package var isOfOneGo: Bool
    /// Whether several connections fetched its bytes.
    package var isSegmented = false

    /// Begins a part with the response that it comes from.
    package init(beginning reception: Reception, identity: PartIdentity) {
        length = 0
        total = reception.total
        self.identity = identity
        provenances = [reception.answer.provenance]
        validators = reception.answer.validators
        isOfOneGo = true
    }

    /// Continues a part of an earlier run, of which a length is verified.
    package init(_ record: PartRecord, length: Int64) {
        self.length = length
        total = record.total
        identity = record.identity
        provenances = record.provenances
        validators = record.validators
        isOfOneGo = false
    }
}

extension PartState {
    /// Whether the manifest declares the digest of the file that the part begins.
    func isPinned(by file: borrowing WantedFile) -> Bool {
        guard case .digest(let digest) = identity else { return false }
        return file.expectation.digests.contains(digest)
    }

    /// The reason why a whole file came where only the rest of this part was requested.
    ///
    /// Either the file is another one, or the server sends no ranges.
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
/// An object, because it is looked at with each chunk of the body.
package final class Reception: Sendable {
    /// Whether the body continues the bytes in hand, and is not the whole file.
    package let isRange: Bool
    /// The position in the file of the body's first byte.
    package let offset: Int64
    /// The position after the body's last byte, where the response promises it.
    package let end: Int64?
    /// The size of the whole file, where known.
    package let total: Int64?
    /// The greatest size that the file may have; nil is no limit.
    package let limit: Int64?
    /// How the end of the body is recognized.
    package let framing: Framing
    /// Digests that the server sent for the whole file, strongest first.
    package let digests: [Digest]
    /// Whether ranges of the same bytes may be requested.
    ///
    /// They may unless the server says that it gives none, or the body is encoded.
    package let allowsRanges: Bool
    /// The other statements of the response.
    package let answer: Answer
    /// Whether the body may be the range that was asked for, though its response says that it is the
    /// whole file. Nothing may continue its bytes.
    package let isDoubtful: Bool

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

/// The statements of a response about its version, besides the bytes.
///
/// An object, because it is passed on through the whole of a transfer, and a copy would count a
/// reference for each of its texts.
package final class Answer: Sendable {
    /// The source that was asked, and the URL that answered.
    package let provenance: Provenance
    /// The validators as sent, judged.
    package let validators: Validators
    /// The media type without parameters.
    package let mediaType: String?
    /// The time until which HTTP caching calls it fresh; nil when the response does not say.
    package let freshUntil: Instant?
    /// The URL that answered, for display: no query.
    package let source: String
    /// The file name that the response suggests, last component only.
    package let suggestedName: String?
    /// Where the answer goes on, where it is one page of several: a reference (RFC 8288, `next`).
    package let nextPage: String?
    /// The version of HTTP of the response; nil for a remembered one, and for a local file.
    package let version: HTTPVersion?
    /// Whether ranges are sent, as far as the responses of the transfer showed it.
    package let ranges: RangeSupport

    /// Reads the statements of a response head.
    package init(_ head: ResponseHead, provenance: Provenance, url: SourceURL, at now: Instant) {
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

    /// Takes the few statements of a response that says little.
    package init(
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
    package convenience init(_ record: PartRecord, provenance: Provenance) {
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
        // A part of a former version has none, and a response that confirms seldom does.
        suggestedName = first.suggestedName ?? last.suggestedName
        version = last.version
        self.ranges = ranges
    }

    /// The same statements, of a transfer whose responses showed more about ranges.
    func with(ranges: RangeSupport) -> Answer { Answer(self, last: self, ranges: ranges) }

    /// The statements about a file whose rest came with another response.
    func continued(by last: Answer) -> Answer { Answer(self, last: last, ranges: last.ranges) }
}

extension Answer: Hashable {
    package static func == (one: Answer, other: Answer) -> Bool {
        one === other
            || (one.provenance == other.provenance && one.validators == other.validators
                && one.mediaType == other.mediaType && one.freshUntil == other.freshUntil
                && one.source == other.source && one.suggestedName == other.suggestedName
                && one.version == other.version && one.ranges == other.ranges)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(provenance)
        hasher.combine(validators)
    }
}
