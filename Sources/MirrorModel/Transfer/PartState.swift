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
    func reasonToBeginAgain(_ reception: Reception) -> Refusal {
        let sent = reception.answer.validators
        let hasChanged =
            total != nil && reception.total != nil && total != reception.total
            || validators.entityTag != sent.entityTag
                && provenances.first == reception.answer.provenance
        return hasChanged
            ? Refusal(.sourceChanged, "the file changed at its source: the server sent it anew")
            : Refusal(.rangeIgnored, "the server sent the whole file where the rest was asked for")
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
