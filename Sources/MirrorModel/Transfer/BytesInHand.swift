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

    /// Counts every byte of a part that begins anew as progress, though an earlier part was longer.
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
