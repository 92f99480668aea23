/// How far the part in hand goes, and what its bytes belong to.
public struct PartState: Sendable, Hashable {
    /// Bytes from the start that can be vouched for.
    public var length: Int64
    /// The size of the whole file, where known.
    public var total: Int64?
    /// What may continue it.
    public var identity: PartIdentity
    /// Where its bytes came from, the first first.
    public var provenances: [Provenance]
    /// The validators of the answer that began it.
    public var validators: Validators
    /// Whether one source alone answers for all bytes: they came in this run, and were joined, if
    /// at all, under a validator.
    public var isOfOneGo: Bool
    /// Whether several connections fetched its bytes.
    public var isSegmented = false

    /// Begins a part with the answer that it comes from.
    public init(beginning reception: Reception, identity: PartIdentity) {
        length = 0
        total = reception.total
        self.identity = identity
        provenances = [reception.answer.provenance]
        validators = reception.answer.validators
        isOfOneGo = true
    }

    /// Takes a part of an earlier run, which can be vouched for up to a length.
    public init(_ record: PartRecord, length: Int64) {
        self.length = length
        total = record.total
        identity = record.identity
        provenances = record.provenances
        validators = record.validators
        isOfOneGo = false
    }
}

/// A body that is taken: where it begins, where it must end, and what was said of it.
public struct Reception: Sendable, Hashable {
    /// The position in the file of the body's first byte.
    public var offset: Int64
    /// The position after the body's last byte, where the answer promises it.
    public var end: Int64?
    /// The size of the whole file, where known.
    public var total: Int64?
    /// The size that no file may pass; nil is no limit.
    public var limit: Int64?
    /// How the end of the body is known.
    public var framing: Framing
    /// Digests that the server sent for the whole file, strongest first.
    public var digests: [Digest]
    /// Whether ranges of the same bytes may be asked for: the server does not say that it gives
    /// none, and the body is not encoded.
    public var allowsRanges = false
    /// What else the answer said.
    public var answer: Answer
}

/// What an answer said of its version, besides the bytes.
public struct Answer: Sendable, Hashable {
    /// What was asked and what answered.
    public var provenance: Provenance
    /// The validators as sent, judged.
    public var validators: Validators
    /// The media type without parameters.
    public var mediaType: String?
    /// Until when HTTP caching calls it fresh; nil when it does not say.
    public var freshUntil: Instant?
    /// The URL that answered, for people: no query.
    public var source: String
    /// The file name that it suggests, last component only.
    public var suggestedName: String?

    /// What a head says.
    public init(_ head: ResponseHead, provenance: Provenance, url: SourceURL, at now: Instant) {
        self.provenance = provenance
        validators = Validators(of: head)
        mediaType = head.mediaType
        freshUntil = head.freshUntil(received: now)
        source = url.description
        suggestedName = ContentDisposition.fileName(head.list(of: .contentDisposition))
    }

    /// What is remembered of the answer that began a part.
    public init(_ record: PartRecord, provenance: Provenance) {
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
