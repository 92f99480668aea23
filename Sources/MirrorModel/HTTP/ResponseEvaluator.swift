/// The meaning of a response for a transfer, given its request; decided only here.
package enum ResponseEvaluation: Sendable {
    /// The transfer takes the body.
    case receive(Reception)
    /// The version at the target is the current one.
    case notModified(Answer)
    /// The part has all bytes of the current version.
    case partIsComplete
    /// The response cannot continue the part: it is dropped, and the file requested again.
    case startOver(ResponseError)
    /// The response cannot be believed: the file is requested without a condition.
    case askPlainly(ResponseError)
    /// The response may carry only the range that was asked for, though it says that it is the whole
    /// file: it is dropped with the part, and the source is asked without ranges from now on.
    case askWhole(ResponseError)
    /// The server may refuse the range, and not the request: it is made once more without one.
    case askWithoutRange(ResponseError)
    /// The end of the body would prove nothing over HTTP/2: the file is requested over HTTP/1.1.
    case askUnshared(ResponseError)
    /// The bytes are elsewhere.
    case redirect(location: String)
    /// A temporary failure, with the seconds that the server asks to wait.
    case retry(ResponseError, after: Int64?)
    /// The source cannot serve the file in this run.
    case refuse(ResponseError)
}

/// The reason for refusing a response, as the middle of a sentence and for scripts.
package struct ResponseError: Sendable, Hashable, Error {
    /// The kind of failure.
    package var code: FailureCode
    /// The cause, e.g. `the server answered 404`.
    package var cause: String
    /// The status of the response.
    package var status: Int?
    /// The declared or known value.
    package var expected: String?
    /// The value that was found instead.
    package var actual: String?
    /// Whether the network may be at fault, as with a page that wants a login: it may heal.
    package var mayHeal = false

    /// Takes a code and a cause.
    package init(
        _ code: FailureCode, _ cause: String, status: Int? = nil, expected: String? = nil,
        actual: String? = nil
    ) {
        self.code = code
        self.cause = cause
        self.status = status
        self.expected = expected
        self.actual = actual
    }
}

/// Compares a response with its request, the part, the version at the target and the expectation.
package struct ResponseEvaluator: ~Copyable, Sendable {
    /// The request.
    package var plan: RequestPlan
    /// The key of the source that was requested.
    package var source: SourceKey
    /// The part that a range was to continue.
    package var part: PartState?
    /// The version at the target.
    package var local: LocalVersion?
    /// The size, digests and media type that the bytes must have.
    package var expectation: Expectation
    /// Limits.
    package var policy: TransferPolicy
    /// Where the file goes; its name may say that it is meant to be encoded.
    package var target: Target?

    /// Takes the request, and everything known about the file.
    package init(
        plan: RequestPlan, source: SourceKey, part: PartState? = nil,
        local: LocalVersion? = nil, expectation: Expectation = Expectation(),
        policy: TransferPolicy = TransferPolicy(), target: Target? = nil
    ) {
        self.plan = plan
        self.source = source
        self.part = part
        self.local = local
        self.expectation = expectation
        self.policy = policy
        self.target = target
    }

    var provenance: Provenance {
        Provenance(source: source, answeredBy: plan.url.withoutSecrets)
    }

    /// Judges a response that arrived now.
    package func judge(_ head: ResponseHead, at now: Instant) -> ResponseEvaluation {
        let answer = Answer(head, provenance: provenance, url: plan.url, at: now)
        switch head.status {
        case 200, 203: return judgeWhole(head, answer)
        case 206 where plan.asksRange: return judgeRange(head, answer)
        case 206: return judgeUnaskedRange(head, answer)
        case 304: return judgeConfirmation(head, answer)
        case 416 where plan.offset > 0: return judgeUnsatisfied(head, answer)
        case 301, 302, 303, 307, 308:
            guard let location = head.redirectLocation else {
                let what = head.has(.location) ? "with an empty or a second" : "without a"
                return .refuse(
                    ResponseError(
                        .httpStatus, "the server answered \(head.status) \(what) Location",
                        status: head.status))
            }
            return .redirect(location: location)
        case let code where plan.asksRange && StatusCode.mayRefuseRanges(code):
            return .askWithoutRange(status(head))
        case let code where StatusCode.isPassing(code):
            return .retry(status(head), after: head.retryAfter(now: now))
        default: return .refuse(status(head))
        }
    }

    func status(_ head: ResponseHead) -> ResponseError {
        // Only a proxy answers 407 (RFC 9110 §15.5.8). Without TLS its other statuses look like the server's.
        let sender = head.status == 407 ? "proxy" : "server"
        return ResponseError(
            .httpStatus, "the \(sender) answered \(head.status)", status: head.status)
    }
}

/// The responses with a body to take: 200, and 206 to a request with a Range.
extension ResponseEvaluator {
    /// Judges a range that the server sent of its own accord: one that covers the file is the file.
    func judgeUnaskedRange(_ head: ResponseHead, _ answer: Answer) -> ResponseEvaluation {
        guard case .bytes(0, let last, let total?) = head.contentRange, last == total - 1,
            answer.mediaType?.hasPrefix("multipart/") != true
        else { return .refuse(status(head)) }
        return judgeWhole(head, answer, covers: total)
    }

    /// Judges a body that says it is the file.
    ///
    /// - Parameter covers: the size of the file, where a Content-Range says that the body is all of it.
    func judgeWhole(
        _ head: ResponseHead, _ answer: Answer, covers: Int64? = nil
    ) -> ResponseEvaluation {
        var framing: Framing
        do { framing = try Framing.judge(head) } catch { return .refuse(error) }
        if let covers {
            guard framing.length == nil || framing.length == covers else {
                return .refuse(malformed("the server's Content-Length is not that of its range"))
            }
            // Chunks and the connection end what is announced here.
            framing = .length(covers)
        }
        if let refusal = refusedCoding(head) ?? refusedType(head, answer.mediaType) {
            return .refuse(refusal)
        }
        if covers == nil,
            let contradiction = contradiction(head, answer, length: framing.length)
        {
            return contradiction
        }
        if let length = framing.length {
            if let size = expectation.size, size != length {
                let refusal =
                    page(head, answer.mediaType) ?? sizeRefusal(declared: size, promised: length)
                // It may be the size of the range, so it does not show yet that the manifest is wrong.
                return plan.asksRange ? .askWhole(refusal) : .refuse(refusal)
            }
            if let refusal = refusedSize(length) { return .refuse(refusal) }
        }
        let digests = head.reprDigests
        if framing == .unbounded, expectation.isUnbounded, digests.isEmpty {
            if head.version == .http2 {
                return .askUnshared(
                    ResponseError(
                        .unverifiable,
                        "the server gives no length, and over HTTP/2 the end of a body does not show that it is complete"
                    ))
            }
            if policy.isStrict {
                return .refuse(
                    ResponseError(
                        .unverifiable,
                        "the server gives no length, and the manifest neither a size nor a digest"))
            }
        }
        // A body without a length may be the range that was asked for. Its end shows that.
        let isDoubtful = plan.asksRange && framing.length == nil
        let known = isDoubtful ? knownTotal(of: answer) : nil
        return .receive(
            Reception(
                isRange: false, offset: 0, end: framing.length,
                total: framing.length ?? expectation.size ?? known,
                limit: expectation.size ?? framing.length ?? policy.sizeLimit, framing: framing,
                digests: digests, allowsRanges: allowsRanges(head, answer), answer: answer,
                isDoubtful: isDoubtful))
    }

    /// What follows where a 200 contradicts itself, or what is known of the version that it names.
    ///
    /// Such an answer to a range carries no whole file. Without a range, what is known may be wrong,
    /// so the file is asked for once more without a condition.
    private func contradiction(
        _ head: ResponseHead, _ answer: Answer, length: Int64?
    ) -> ResponseEvaluation? {
        if head.has(.contentRange) {
            let refusal = malformed("the server answered 200 with a Content-Range")
            return plan.asksRange ? .askWhole(refusal) : .refuse(refusal)
        }
        if let length, let known = knownTotal(of: answer), length != known {
            let refusal = malformed(
                "the server sent \(Counted(length, "byte")) of a version that has \(known)")
            return plan.asksRange ? .askWhole(refusal) : .askPlainly(refusal)
        }
        guard plan.asksRange, let part else { return nil }
        if let length, length == askedLength {
            return .askWhole(
                malformed("the server answered 200, with as many bytes as the range has"))
        }
        // Neither the version nor the length is named, though the version was before.
        if length == nil, expectation.size == nil, answer.validators.isEmpty,
            !part.validators.isEmpty
        {
            return .askWhole(malformed("the server answered 200 to a range, without its validator"))
        }
        return nil
    }

    /// How many bytes were asked for by range; nil where the end of the file is not known.
    private var askedLength: Int64? {
        (plan.end ?? expectation.size ?? part?.total).map { $0 - plan.offset }
    }

    /// The size of the version at hand whose strong validator an answer repeats.
    private func knownTotal(of answer: Answer) -> Int64? {
        if plan.asksRange, let part, part.provenances.first == answer.provenance,
            answer.validators.repeats(part.validators.strong), let total = part.total
        {
            return total
        }
        switch plan.condition {
        case .part?:
            guard let part, part.provenances.first == answer.provenance else { return nil }
            return answer.validators.repeats(part.validators.strong) ? part.total : nil
        case .local?:
            guard let local, local.provenance == answer.provenance else { return nil }
            return answer.validators.repeats(local.validators.strong) ? local.size : nil
        case nil: return nil
        }
    }

    func judgeRange(_ head: ResponseHead, _ answer: Answer) -> ResponseEvaluation {
        guard let part else { return .refuse(status(head)) }
        let framing: Framing
        do { framing = try Framing.judge(head) } catch { return .startOver(error) }
        if answer.mediaType?.hasPrefix("multipart/") == true {
            return .startOver(malformed("the server answered a range with several parts"))
        }
        guard case .bytes(let first, let last, let sentTotal) = head.contentRange else {
            return .startOver(malformed("the server answered 206 without a Content-Range"))
        }
        guard first == plan.offset, part.length == plan.offset else {
            return .startOver(
                malformed("the server sent a range from \(first), not from \(plan.offset)"))
        }
        if let length = framing.length, length != last - first + 1 {
            return .startOver(malformed("the server's Content-Length is not that of its range"))
        }
        let known = expectation.size ?? part.total
        guard let total = sentTotal ?? (expectation.pin == nil ? nil : expectation.size) else {
            return .startOver(malformed("the server does not say how long the whole file is"))
        }
        guard known == nil || known == total else {
            return .startOver(changed("its size is now \(total), not \(known ?? 0)"))
        }
        guard last < total else {
            return .startOver(malformed("the server sent a range that ends beyond the file"))
        }
        if let change = versionChange(head, part) { return .startOver(change) }
        if let refusal = refusedCoding(head) { return .startOver(refusal) }
        if let refusal = refusedType(head, answer.mediaType) { return .refuse(refusal) }
        if let refusal = refusedSize(total) { return .refuse(refusal) }
        return .receive(
            Reception(
                isRange: true, offset: first, end: last + 1, total: total, limit: last + 1,
                framing: framing,
                digests: head.reprDigests,
                allowsRanges: allowsRanges(head, answer), answer: answer))
    }

    private func allowsRanges(_ head: ResponseHead, _ answer: Answer) -> Bool {
        answer.ranges != .refused && head.contentCodings.isEmpty
    }

    /// Why a range belongs to another version than the part.
    ///
    /// Nil when it belongs to the same version, or a pin decides.
    private func versionChange(_ head: ResponseHead, _ part: PartState) -> ResponseError? {
        guard let first = part.provenances.first, first == provenance else {
            // With a pin another source may continue the part, and its validators mean nothing
            // here.
            if case .digest = part.identity { return nil }
            return changed("another place answers for it")
        }
        if let tag = part.validators.entityTag {
            let sent = head.single(.entityTag).flatMap(EntityTag.init)
            return sent == tag
                ? nil : changed("its ETag is now \(Quoted(sent?.text ?? ""))")
        }
        if case .lastModified(let date) = part.validators.strong {
            let sent = head.date(of: .lastModified)
            return sent == date ? nil : changed("its Last-Modified is another")
        }
        return nil
    }

    /// Refuses an encoding that nothing shows to be the file itself.
    private func refusedCoding(_ head: ResponseHead) -> ResponseError? {
        guard expectation.pin == nil, head.has(.contentEncoding) else { return nil }
        let codings = head.contentCodings.filter { !isNoCoding($0) }
        if codings.isEmpty { return nil }
        if codings.count == 1, let coding = codings.first,
            names.contains(where: { isPart(coding, of: $0) })
        {
            return nil
        }
        let words = codings.joined(separator: ", ")
        return ResponseError(
            .encodingRefused, "the body is encoded as \(Quoted(words))", status: head.status,
            expected: "identity", actual: words)
    }

    /// The names that the file goes by: that of its target, and those in the URLs that led to it.
    private var names: [String] {
        [target?.path, source.description, plan.url.path].compactMap { $0 }
    }

    /// Refuses a media type that the file cannot have.
    private func refusedType(_ head: ResponseHead, _ type: String?) -> ResponseError? {
        guard let type else { return nil }
        if let wanted = expectation.mediaType, !wanted.contains(type) {
            return typeRefusal(head, type, expected: wanted.description)
        }
        if expectation.mediaType == nil, expectation.refusesHTML, MediaRange.isPage(type) {
            return typeRefusal(head, type, expected: nil)
        }
        return nil
    }

    /// The refusal of a page of HTML in the place of a file that is none, as a captive portal or a
    /// login sends it; nil for other answers.
    private func page(_ head: ResponseHead, _ type: String?) -> ResponseError? {
        guard let type, MediaRange.isPage(type), let target,
            Expectation.refusesHTML(at: target, replacing: nil)
        else { return nil }
        return typeRefusal(head, type, expected: nil)
    }

    private func typeRefusal(_ head: ResponseHead, _ type: String, expected: String?)
        -> ResponseError
    {
        let wanted = expected.map { ", not \($0)" } ?? ", which this file cannot be"
        let isPage = MediaRange.isPage(type)
        var refusal = ResponseError(
            .typeMismatch,
            "the server answered with \(Quoted(type))" + wanted
                + (isPage ? "; the network may want a login" : ""),
            status: head.status, expected: expected, actual: type)
        refusal.mayHeal = isPage
        return refusal
    }

    private func refusedSize(_ total: Int64) -> ResponseError? {
        guard expectation.size == nil, let limit = policy.sizeLimit, total > limit else {
            return nil
        }
        return ResponseError(
            .tooLarge, "the file has \(Counted(total, "byte")), the limit is \(limit)",
            expected: String(limit), actual: String(total))
    }

    private func sizeRefusal(declared: Int64, promised: Int64) -> ResponseError {
        ResponseError(
            .sizeMismatch,
            "the server promises \(Counted(promised, "byte")), the manifest says \(declared)",
            expected: String(declared), actual: String(promised))
    }

    private func malformed(_ cause: String) -> ResponseError {
        ResponseError(.malformedResponse, cause)
    }

    private func changed(_ cause: String) -> ResponseError {
        ResponseError(.sourceChanged, "the file changed at its source: " + cause)
    }
}

// MARK: Content codings as servers use them (RFC 9110 §8.4.1)

/// Whether a word names no coding, though a server sends it as one.
private func isNoCoding(_ word: String) -> Bool {
    notCodings.contains(word) || word.hasPrefix("iso-8859-") || word.hasPrefix("windows-")
        || word.contains("/")
}

/// Whether a coding is what the extension of a name says.
///
/// A server that finds `a.tar.gz` may send it as a tar archive with the coding gzip. Those are the
/// bytes of the file as its name has it, and so they are kept.
private func isPart(_ coding: String, of name: String) -> Bool {
    let last = name.split(separator: "/").last ?? ""
    guard let dot = last.lastIndex(of: ".") else { return false }
    let coding = coding.hasPrefix("x-") ? String(coding.dropFirst(2)) : coding
    return codingsByExtension[last[last.index(after: dot)...].lowercased()] == coding
}

/// Encodings of characters and of mail, and words for nothing.
private let notCodings: Set<String> = [
    "none", "binary", "utf-8", "utf8", "us-ascii", "ascii", "7bit", "8bit", "raw", "plain",
]

private let codingsByExtension = [
    "gz": "gzip", "tgz": "gzip", "svgz": "gzip", "br": "br", "zst": "zstd", "tzst": "zstd",
    "bz2": "bzip2", "tbz2": "bzip2", "xz": "xz", "txz": "xz", "lzma": "lzma", "z": "compress",
]

extension Expectation {
    /// Whether no declared value could show that bytes are missing.
    var isUnbounded: Bool { size == nil && digests.isEmpty && pieces == nil }
}

/// The responses without a body to take that say something about present bytes: 304 and 416.
extension ResponseEvaluator {
    /// Believes a 304 only from the provenance of the validator, and only about that validator.
    func judgeConfirmation(_ head: ResponseHead, _ answer: Answer) -> ResponseEvaluation {
        guard let condition = plan.condition else {
            // A cache may have taken the If-Range of a range for a condition.
            return plan.asksRange ? .startOver(status(head)) : .refuse(status(head))
        }
        do { _ = try Framing.judge(head) } catch { return .askPlainly(error) }
        let owner =
            switch condition {
            case .local: local?.provenance
            case .part: part?.provenances.first
            }
        guard owner == answer.provenance else {
            return .askPlainly(
                ResponseError(
                    .malformedResponse, "the server answered 304 for a file of another place",
                    status: 304))
        }
        let tag = answer.validators.entityTag
        if head.has(.entityTag), tag == nil || tag != condition.validators.entityTag {
            return .askPlainly(
                ResponseError(
                    .malformedResponse, "the server answered 304 with another ETag", status: 304))
        }
        if condition.validators.entityTag == nil, head.has(.lastModified),
            answer.validators.lastModified != condition.validators.lastModified
        {
            return .askPlainly(
                ResponseError(
                    .malformedResponse, "the server answered 304 with another Last-Modified",
                    status: 304))
        }
        switch condition {
        case .local: return .notModified(answer)
        case .part: return .partIsComplete
        }
    }

    /// Takes a 416 as proof of a complete part only when it names the part's length as the whole.
    func judgeUnsatisfied(_ head: ResponseHead, _ answer: Answer) -> ResponseEvaluation {
        let refusal = ResponseError(
            .sourceChanged, "the server has no bytes from \(plan.offset) on", status: 416)
        guard let part, (try? Framing.judge(head)) != nil,
            case .unsatisfied(let total) = head.contentRange, total == part.length
        else { return .startOver(refusal) }
        if let known = expectation.size ?? part.total {
            return known == total ? .partIsComplete : .startOver(refusal)
        }
        // No response gave the length before; the version's own strong tag makes it believable.
        let isSameVersion =
            provenance == part.provenances.first && answer.validators.entityTag != nil
            && plan.ifRange == answer.validators.entityTag.map(StrongValidator.entityTag)
        return isSameVersion ? .partIsComplete : .startOver(refusal)
    }
}
