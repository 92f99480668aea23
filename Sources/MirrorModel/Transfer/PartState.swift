/// How far the part in hand goes, and what its bytes belong to.
package struct PartState: Sendable, Hashable {
    /// Bytes from the start that can be vouched for.
    package var length: Int64
    /// The size of the whole file, where known.
    package var total: Int64?
    /// What may continue it.
    package var identity: PartIdentity
    /// Where its bytes came from, the first first.
    package var provenances: [Provenance]
    /// The validators of the answer that began it.
    package var validators: Validators
    /// Whether one source alone answers for all bytes: they came in this run, and were joined, if
    /// at all, under a validator.
    package var isOfOneGo: Bool
    /// Whether several connections fetched its bytes.
    package var isSegmented = false

    /// Begins a part with the answer that it comes from.
    package init(beginning reception: Reception, identity: PartIdentity) {
        length = 0
        total = reception.total
        self.identity = identity
        provenances = [reception.answer.provenance]
        validators = reception.answer.validators
        isOfOneGo = true
    }

    /// Takes a part of an earlier run, which can be vouched for up to a length.
    package init(_ record: PartRecord, length: Int64) {
        self.length = length
        total = record.total
        identity = record.identity
        provenances = record.provenances
        validators = record.validators
        isOfOneGo = false
    }
}

/// A body that is taken: where it begins, where it must end, and what was said of it.
package struct Reception: Sendable, Hashable {
    /// The position in the file of the body's first byte.
    package var offset: Int64
    /// The position after the body's last byte, where the answer promises it.
    package var end: Int64?
    /// The size of the whole file, where known.
    package var total: Int64?
    /// The size that no file may pass; nil is no limit.
    package var limit: Int64?
    /// How the end of the body is known.
    package var framing: Framing
    /// Digests that the server sent for the whole file, strongest first.
    package var digests: [Digest]
    /// Whether ranges of the same bytes may be asked for: the server does not say that it gives
    /// none, and the body is not encoded.
    package var allowsRanges = false
    /// What else the answer said.
    package var answer: Answer
}

/// What an answer said of its version, besides the bytes.
package struct Answer: Sendable, Hashable {
    /// What was asked and what answered.
    package var provenance: Provenance
    /// The validators as sent, judged.
    package var validators: Validators
    /// The media type without parameters.
    package var mediaType: String?
    /// Until when HTTP caching calls it fresh; nil when it does not say.
    package var freshUntil: Instant?
    /// The URL that answered, for people: no query.
    package var source: String
    /// The file name that it suggests, last component only.
    package var suggestedName: String?

    /// What a head says.
    package init(_ head: ResponseHead, provenance: Provenance, url: SourceURL, at now: Instant) {
        self.provenance = provenance
        validators = Validators(of: head)
        mediaType = head.mediaType
        freshUntil = head.freshUntil(received: now)
        source = url.description
        suggestedName = ContentDisposition.fileName(head.list(of: .contentDisposition))
    }

    /// What is remembered of the answer that began a part.
    package init(_ record: PartRecord, provenance: Provenance) {
        self.provenance = provenance
        validators = record.validators
        mediaType = record.mediaType
        source = provenance.source.description
    }

    /// Takes what an answer said where it said little.
    package init(provenance: Provenance, validators: Validators, source: String) {
        self.provenance = provenance
        self.validators = validators
        self.source = source
    }
}
