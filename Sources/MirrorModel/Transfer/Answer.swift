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
        suggestedName = ContentDisposition.fileName(head.list(of: .contentDisposition))
        nextPage = LinkField.next(in: head.list(of: .link))
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
