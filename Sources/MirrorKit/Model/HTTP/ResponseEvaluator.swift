/// What a response means for a transfer, given its request. Only `ResponseEvaluator` decides this.
enum ResponseEvaluation: Sendable {
    /// The transfer receives the body.
    case receive(Reception)
    /// The version at the target is the current one.
    case notModified(Answer)
    /// The part has all bytes of the current version.
    case partIsComplete
    /// The response cannot continue the part. The transfer drops the part, and asks again.
    case startOver(ResponseError)
    /// The response cannot be believed. The transfer asks for the file without a condition.
    case askPlainly(ResponseError)
    /// The body may be only the requested range, although the response claims the whole file.
    ///
    /// The transfer drops the body and the part, and asks this source without ranges from now on.
    case askWhole(ResponseError)
    /// The server may refuse only the range. The transfer asks once more without a range.
    case askWithoutRange(ResponseError)
    /// Over HTTP/2 the end of the body would prove nothing. The transfer asks over HTTP/1.1.
    case askUnshared(ResponseError)
    /// The bytes are at another URL.
    case redirect(location: String)
    /// The failure may pass. `after`: the seconds that the server asks to wait; nil without a wish.
    case retry(ResponseError, after: Int64?)
    /// The source cannot serve the file in this run.
    case refuse(ResponseError)
}

/// Why mirror refuses a response: as the middle of a sentence, and as values for scripts.
struct ResponseError: Sendable, Hashable, Error {
    /// The kind of failure.
    var code: FailureCode
    /// The cause, e.g. `the server answered 404`.
    var cause: String
    /// The status of the response; nil without a response.
    var status: Int?
    /// The declared or known value that the response contradicts.
    var expected: String?
    /// The value that was found instead of the expected one.
    var actual: String?
    /// Whether the error may pass, because the network may cause it with a page that wants a login.
    var mayHeal = false
    /// Whether the server asked for a client certificate that it did not get.
    var wantsCertificate = false

    /// Takes a code and a cause.
    init(
        _ code: FailureCode, _ cause: String, status: Int? = nil, expected: String? = nil,
        actual: String? = nil
    ) {
        self.code = code
        self.cause = cause
        self.status = status
        self.expected = expected
        self.actual = actual
    }

    /// Returns what helps against a refusal of a URL, where that is a value and no sentence.
    ///
    /// nginx answers 400 to a client without a certificate.
    func remedy(at url: SourceURL) -> Remedy? {
        let mayWantCertificate =
            wantsCertificate || status.map(StatusCode.mayWantCertificate) == true
        guard mayWantCertificate, url.scheme == .https else { return nil }
        return Remedy(.giveCertificate, url.origin.description)
    }
}

/// Judges a response by its request, the part, the version at the target and the expectation.
struct ResponseEvaluator: ~Copyable, Sendable {
    /// The request that the response answers.
    var plan: RequestPlan
    /// The key of the source that was asked.
    var source: SourceKey
    /// The part that the requested range should continue.
    var part: PartState?
    /// The version of the file at the target, which a 304 may confirm.
    var local: LocalVersion?
    /// The size, digests and media type that the bytes must have.
    var expectation: Expectation = Expectation()
    /// The limits of a transfer.
    var policy: TransferPolicy = TransferPolicy()
    /// The path of the file in the tree. Its extension may name a content coding.
    var target: Target?

    var provenance: Provenance {
        Provenance(source: source, answeredBy: plan.url.withoutSecrets)
    }

    /// Whether the responding place may speak about a version of this provenance.
    ///
    /// Places that a rewrite makes stand for one URL may, if they repeat the validator.
    private func mayJudge(_ version: Provenance?) -> Bool {
        guard let version, version != provenance else { return version != nil }
        return version.source == source && plan.relatives.contains(version.answeredBy)
    }

    /// Returns the meaning of a response that arrived at `now`.
    func judge(_ head: ResponseHead, at now: Instant) -> ResponseEvaluation {
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

/// The responses whose body a transfer receives: 200, 203 and 206.
extension ResponseEvaluator {
    /// Judges a 206 without a requested range. A range that covers the file counts as the file.
    func judgeUnaskedRange(_ head: ResponseHead, _ answer: Answer) -> ResponseEvaluation {
        guard case .bytes(0, let last, let total?) = head.contentRange, last == total - 1,
            answer.mediaType?.hasPrefix("multipart/") != true
        else { return .refuse(status(head)) }
        return judgeWhole(head, answer, covers: total)
    }

    /// Judges a body that claims to be the whole file.
    ///
    /// - Parameter covers: the size of the file, if a Content-Range says that the body is all of
    ///   it.
    func judgeWhole(
        _ head: ResponseHead, _ answer: Answer, covers: Int64? = nil
    ) -> ResponseEvaluation {
        var framing: Framing
        do { framing = try Framing.judge(head) } catch { return .refuse(error) }
        if let covers {
            guard framing.length == nil || framing.length == covers else {
                return .refuse(malformed("the server's Content-Length is not that of its range"))
            }
            // The range says how long the body is, even if chunks or the connection end the body.
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
                // The length may be that of the range, so it does not yet show that the manifest is
                // wrong.
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
            if policy.strict {
                return .refuse(
                    ResponseError(
                        .unverifiable,
                        "the server gives no length, and the manifest neither a size nor a digest"))
            }
        }
        // A body without a length may be the requested range. The end of the body will show it.
        let isDoubtful = plan.asksRange && framing.length == nil
        let known = isDoubtful ? knownTotal(of: answer) : nil
        return .receive(
            Reception(
                isRange: false, offset: 0, end: framing.length,
                total: framing.length ?? expectation.size ?? known,
                limit: expectation.size ?? framing.length ?? policy.maxSize, framing: framing,
                digests: digests, allowsRanges: allowsRanges(head, answer), answer: answer,
                isDoubtful: isDoubtful))
    }

    /// Returns what follows if a 200 contradicts itself or what is known of its version.
    ///
    /// A contradictory answer to a range carries no whole file. Without a range, the known values
    /// may be wrong. So the transfer asks once more without a condition. Returns nil if nothing
    /// contradicts.
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
        // The answer names neither its version nor its length, but the part's response named the
        // version.
        if length == nil, expectation.size == nil, answer.validators.isEmpty,
            !part.validators.isEmpty
        {
            return .askWhole(malformed("the server answered 200 to a range, without its validator"))
        }
        return nil
    }

    /// How many bytes the range asks for; nil if the end of the file is not known.
    private var askedLength: Int64? {
        (plan.end ?? expectation.size ?? part?.total).map { $0 - plan.offset }
    }

    /// The known size of the version whose strong validator an answer repeats; nil without one.
    private func knownTotal(of answer: Answer) -> Int64? {
        if plan.asksRange, let part, mayJudge(part.provenances.first),
            answer.validators.repeats(part.validators.strong), let total = part.total
        {
            return total
        }
        switch plan.condition {
        case .part?:
            guard let part, mayJudge(part.provenances.first) else { return nil }
            return answer.validators.repeats(part.validators.strong) ? part.total : nil
        case .local?:
            guard let local, mayJudge(local.provenance) else { return nil }
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

    /// Returns why a range belongs to another version than the part.
    ///
    /// Returns nil if the range belongs to the same version, or if a pin decides.
    private func versionChange(_ head: ResponseHead, _ part: PartState) -> ResponseError? {
        // With a pin another place may continue the part, and its validators mean nothing here.
        if case .digest = part.identity, part.provenances.first != provenance { return nil }
        guard mayJudge(part.provenances.first) else {
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

    /// Refuses a content coding unless it belongs to the file itself. Returns nil to accept it.
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

    /// The paths whose extensions may name a content coding: the target, the source and the URL.
    private var names: [String] {
        [target?.path, source.description, plan.url.path].compactMap { $0 }
    }

    /// Refuses a media type that the file cannot have. Returns nil to accept the type.
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

    /// Refuses an HTML page in place of a file that is no page.
    ///
    /// Captive portals and logins send such pages. Returns nil for other answers.
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
        guard expectation.size == nil, let limit = policy.maxSize, total > limit else {
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

/// Whether a word in Content-Encoding names no coding, though servers send it there.
private func isNoCoding(_ word: String) -> Bool {
    notCodings.contains(word) || word.hasPrefix("iso-8859-") || word.hasPrefix("windows-")
        || word.contains("/")
}

/// Whether a file's extension says that the file has this coding.
///
/// A server that finds `a.tar.gz` may send it as a tar archive with the coding gzip. The encoded
/// bytes are then the bytes of the file that the name promises, so mirror keeps them.
private func isPart(_ coding: String, of name: String) -> Bool {
    let last = name.split(separator: "/").last ?? ""
    guard let dot = last.lastIndex(of: ".") else { return false }
    let coding = coding.hasPrefix("x-") ? String(coding.dropFirst(2)) : coding
    return codingsByExtension[last[last.index(after: dot)...].lowercased()] == coding
}

/// Words that servers send as codings: encodings of characters and of mail, and words for none.
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

/// The responses without a body that may confirm present bytes: 304 and 416.
extension ResponseEvaluator {
    /// Believes a 304 only from the validator's own provenance, and only about that validator.
    func judgeConfirmation(_ head: ResponseHead, _ answer: Answer) -> ResponseEvaluation {
        guard let condition = plan.condition else {
            // A cache may have treated the If-Range of a range as a condition.
            return plan.asksRange ? .startOver(status(head)) : .refuse(status(head))
        }
        do { _ = try Framing.judge(head) } catch { return .askPlainly(error) }
        let owner =
            switch condition {
            case .local: local?.provenance
            case .part: part?.provenances.first
            }
        guard mayJudge(owner) else {
            return .askPlainly(
                ResponseError(
                    .malformedResponse, "the server answered 304 for a file of another place",
                    status: 304))
        }
        let tag = answer.validators.entityTag
        let isOfAnother = owner != answer.provenance
        if head.has(.entityTag) || isOfAnother && condition.validators.entityTag != nil,
            tag == nil || tag != condition.validators.entityTag
        {
            return .askPlainly(
                ResponseError(
                    .malformedResponse, "the server answered 304 with another ETag", status: 304))
        }
        if condition.validators.entityTag == nil,
            head.has(.lastModified) || isOfAnother,
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

    /// Accepts a 416 as proof of a complete part only if it names the part's length as the whole.
    func judgeUnsatisfied(_ head: ResponseHead, _ answer: Answer) -> ResponseEvaluation {
        let refusal = ResponseError(
            .sourceChanged, "the server has no bytes from \(plan.offset) on", status: 416)
        guard let part, (try? Framing.judge(head)) != nil,
            case .unsatisfied(let total) = head.contentRange, total == part.length
        else { return .startOver(refusal) }
        if let known = expectation.size ?? part.total {
            return known == total ? .partIsComplete : .startOver(refusal)
        }
        // No earlier response gave the length, so only the version's own strong tag makes it
        // believable.
        let isSameVersion =
            mayJudge(part.provenances.first) && answer.validators.entityTag != nil
            && plan.ifRange == answer.validators.entityTag.map(StrongValidator.entityTag)
        return isSameVersion ? .partIsComplete : .startOver(refusal)
    }
}
