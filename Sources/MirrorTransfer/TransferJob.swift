package import MirrorModel

/// One fetch: everything that the transfer loop must know, with secrets filled in.
///
/// An object, because it goes from the run to the loop and back with each event, and a copy would
/// count a reference for each of its parts.
package final class TransferJob: Sendable {
    /// Unique in the run.
    package let id: Int
    /// The target of the bytes; it names the part, and appears in events and errors.
    package let target: Target
    /// The sources in the order in which they are tried; never empty.
    package let sources: [PreparedSource]
    /// The body of a POST; nil for a GET.
    package let postBody: [UInt8]?
    /// The size, digests and media type that the bytes must have.
    package let expectation: Expectation
    /// The version at the target, for a conditional request; nil makes the request unconditional.
    package let local: LocalVersion?
    /// The part that may be resumed; the loop first cuts it to its verified length.
    package let part: PartRecord?
    /// Jobs with a higher priority run first.
    package let priority: Int32
    /// Whether its failure ends everything: no other job begins before the observer has handled it.
    package let isDecisive: Bool
    /// Whether its bytes go into a part even if they are few, so that a later run can use them.
    package let keepsPart: Bool
    /// Asks the program for other credentials after a 401; nil where it has none to give.
    package let renew: CredentialRenewal?
    /// What its bytes count against; nil where nothing limits the run.
    let allowance: ByteAllowance?
    /// Whether it goes on when nothing is left of that.
    let isUrgent: Bool

    /// Makes a job.
    package init(
        id: Int, target: Target, sources: [PreparedSource], postBody: [UInt8]?,
        expectation: Expectation, local: LocalVersion?, part: PartRecord?, priority: Int32,
        isDecisive: Bool = false, keepsPart: Bool = false, renew: CredentialRenewal? = nil,
        allowance: ByteAllowance? = nil, isUrgent: Bool = false
    ) {
        self.id = id
        self.target = target
        self.sources = sources
        self.postBody = postBody
        self.expectation = expectation
        self.local = local
        self.part = part
        self.priority = priority
        self.isDecisive = isDecisive
        self.keepsPart = keepsPart
        self.renew = renew
        self.allowance = allowance
        self.isUrgent = isUrgent
    }

    /// The same job with other headers for the origin of one of its sources.
    func with(_ headers: [(name: String, value: String)], for source: Int) -> TransferJob {
        var sources = sources
        sources[source] = PreparedSource(
            url: sources[source].url, key: sources[source].key, headers: headers)
        return TransferJob(
            id: id, target: target, sources: sources, postBody: postBody,
            expectation: expectation, local: local, part: part, priority: priority,
            isDecisive: isDecisive, keepsPart: keepsPart, renew: renew,
            allowance: allowance, isUrgent: isUrgent)
    }

    /// Whether it must take no more bytes until the run decides what follows.
    var hasSpentAll: Bool { !isUrgent && allowance?.isSpent == true }

    /// Whether its response is expected to take little more than a round trip.
    var isBrief: Bool {
        local != nil || expectation.size.map { $0 <= Int64(IncomingBody.memoryLimit) } ?? false
    }
}

/// Asks for the headers of a source whose credentials were refused, and passes them on: perhaps at
/// once, perhaps never.
package typealias CredentialRenewal =
    @Sendable (PreparedSource, _ then: @escaping @Sendable (RenewedHeaders) -> Void) -> Void

/// All headers of a source, or a sentence that says why there are no others.
package enum RenewedHeaders: Sendable {
    case headers([(name: String, value: String)])
    case none(String)
}

/// A source whose header values have been filled in.
package struct PreparedSource: Sendable {
    /// Where the bytes are.
    package let url: SourceURL
    /// The name under which the source is remembered.
    package let key: SourceKey
    /// Names and values, secrets included: never printed, sent to the URL's own origin only.
    package let headers: [(name: String, value: String)]
    /// Whether one of them says who asks.
    let namesUserAgent: Bool

    /// Takes a source and its values.
    package init(url: SourceURL, key: SourceKey, headers: [(name: String, value: String)]) {
        self.url = url
        self.key = key
        self.headers = headers
        namesUserAgent = headers.contains { $0.name.lowercased() == "user-agent" }
    }
}
